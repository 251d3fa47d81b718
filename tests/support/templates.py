"""Pod templates with everything that `kubectl describe` knows to tell, by name."""

from __future__ import annotations

from typing import Any

from tests.support.revisions import template
from tests.support.script import Object

VOLUMES: dict[str, list[Object]] = {
    "hostPath": [{"path": "/a"}, {"path": "/a", "type": "Directory"}, {"path": "", "type": ""}],
    "emptyDir": [
        {},
        {"medium": "Memory", "sizeLimit": "1024Mi"},
        {"sizeLimit": "0"},
        {"sizeLimit": "-1"},
        {"sizeLimit": "1500m"},
    ],
    "gcePersistentDisk": [{"pdName": "p", "fsType": "ext4", "partition": 1, "readOnly": True}, {}],
    "awsElasticBlockStore": [{"volumeID": "v", "fsType": "ext4", "partition": 1, "readOnly": True}, {}],
    "gitRepo": [{"repository": "r", "revision": "x", "directory": "d"}, {}],
    "secret": [
        {"secretName": "s", "optional": True},
        {"secretName": "s", "items": [{"key": "a", "path": "b"}], "defaultMode": 420},
        {},
    ],
    "nfs": [{"server": "s", "path": "/p", "readOnly": True}, {}],
    "iscsi": [
        {
            "targetPortal": "t",
            "iqn": "i",
            "lun": 3,
            "iscsiInterface": "if",
            "fsType": "x",
            "portals": ["a", "b"],
            "chapAuthDiscovery": True,
            "chapAuthSession": True,
            "secretRef": {"name": "n"},
            "initiatorName": "in",
        },
        {},
        {"targetPortal": "t", "iqn": "i", "lun": 1, "readOnly": True, "secretRef": {}},
    ],
    "glusterfs": [{"endpoints": "e", "path": "p", "readOnly": True}, {}],
    "persistentVolumeClaim": [{"claimName": "c", "readOnly": True}, {}],
    "rbd": [
        {
            "monitors": ["a", "b"],
            "image": "i",
            "fsType": "f",
            "pool": "p",
            "user": "u",
            "keyring": "k",
            "secretRef": {"name": "n"},
            "readOnly": True,
        },
        {},
    ],
    "flexVolume": [
        {"driver": "d", "fsType": "f", "secretRef": {}, "readOnly": True, "options": {"b": "2", "a": "1"}},
        {},
    ],
    "cinder": [{"volumeID": "v", "fsType": "f", "readOnly": True, "secretRef": {"name": "n"}}, {}],
    "cephfs": [
        {"monitors": ["a"], "path": "p", "user": "u", "secretFile": "sf", "secretRef": {"name": "n"}, "readOnly": True},
        {},
    ],
    "flocker": [{"datasetName": "n", "datasetUUID": "u"}, {}],
    "downwardAPI": [
        {
            "items": [
                {"path": "p", "fieldRef": {"fieldPath": "metadata.name"}},
                {"path": "q", "resourceFieldRef": {"resource": "limits.cpu", "containerName": "c"}},
                {"path": "z"},
            ]
        },
        {},
    ],
    "fc": [{"targetWWNs": ["a", "b"], "lun": 2, "fsType": "f", "readOnly": True, "wwids": ["w"]}, {"wwids": ["w"]}, {}],
    "azureFile": [{"secretName": "s", "shareName": "h", "readOnly": True}, {}],
    "configMap": [{"name": "c", "optional": True}, {"name": "c"}, {}],
    "vsphereVolume": [{"volumePath": "v", "fsType": "f", "storagePolicyName": "s", "storagePolicyID": "i"}, {}],
    "quobyte": [{"registry": "r", "volume": "v", "readOnly": True, "user": "u", "group": "g", "tenant": "t"}, {}],
    "azureDisk": [
        {"diskName": "d", "diskURI": "u", "cachingMode": "None", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
        {"diskName": "d", "diskURI": "u", "cachingMode": "", "fsType": "", "readOnly": True, "kind": ""},
    ],
    "photonPersistentDisk": [{"pdID": "p", "fsType": "f"}, {}],
    "portworxVolume": [{"volumeID": "v", "fsType": "f", "readOnly": True}, {}, {"volumeID": "v", "fsType": "f"}],
    "scaleIO": [
        {
            "gateway": "g",
            "system": "s",
            "secretRef": {"name": "n"},
            "sslEnabled": True,
            "protectionDomain": "pd",
            "storagePool": "sp",
            "storageMode": "sm",
            "volumeName": "v",
            "fsType": "f",
            "readOnly": True,
        },
        {},
    ],
    "storageos": [
        {"volumeName": "v", "volumeNamespace": "n", "fsType": "f", "readOnly": True, "secretRef": {"name": "n"}},
        {},
    ],
    "csi": [
        {
            "driver": "d",
            "readOnly": True,
            "fsType": "f",
            "volumeAttributes": {
                "b": "2",
                "a": "1",
                "long": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            },
            "nodePublishSecretRef": {"name": "n"},
        },
        {"driver": "d"},
        {"driver": "d", "volumeAttributes": {}},
    ],
    "ephemeral": [
        {
            "volumeClaimTemplate": {
                "metadata": {"labels": {"a": "b"}, "annotations": {"x": "y"}},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "sc",
                    "resources": {"requests": {"storage": "1Gi"}},
                    "volumeMode": "Block",
                    "dataSource": {"apiGroup": "g", "kind": "K", "name": "n"},
                },
            }
        },
        {},
        {"volumeClaimTemplate": {"spec": {"volumeName": "vn", "resources": {"requests": {"storage": "1Gi"}}}}},
        {
            "volumeClaimTemplate": {
                "metadata": {
                    "labels": {"a": "b", "c": "d"},
                    "annotations": {"x": "y", "volume.beta.kubernetes.io/storage-class": "beta"},
                },
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                    "volumeName": "q",
                    "dataSource": {"kind": "K", "name": "n"},
                    "dataSourceRef": {"kind": "K", "name": "n", "namespace": "x"},
                },
            }
        },
    ],
    "image": [{"reference": "r", "pullPolicy": "Always"}, {}],
    "projected": [
        {
            "sources": [
                {"secret": {"name": "s", "optional": True}},
                {"secret": {"name": "t"}},
                {"downwardAPI": {"items": []}},
                {"configMap": {"name": "c", "optional": False}},
                {"configMap": {}},
                {"serviceAccountToken": {"path": "p", "expirationSeconds": 3600}},
                {"clusterTrustBundle": {"path": "p", "name": "n"}},
                {"podCertificate": {"signerName": "s", "keyType": "ED25519", "credentialBundlePath": "c"}},
                {},
                {"secret": {"name": "s"}, "configMap": {"name": "x"}},
            ]
        },
        {
            "sources": [
                {
                    "clusterTrustBundle": {
                        "path": "p",
                        "signerName": "sg",
                        "labelSelector": {"matchLabels": {"a": "b"}},
                        "optional": True,
                    }
                }
            ]
        },
        {"sources": []},
    ],
}
"""Kinds of volumes, each with some sources."""


def _container(**fields: Any) -> Object:
    """A template whose one container has these fields."""
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": "img", **fields}]},
    }


PROBES: dict[str, Object] = {
    "exec": {"exec": {"command": ["a", "b c"]}},
    "exec-none": {"exec": {}},
    "http": {"httpGet": {"port": 80}},
    "http-all": {
        "httpGet": {
            "port": "web",
            "path": "/x y?a=b#c",
            "host": "h",
            "scheme": "HTTPS",
            "httpHeaders": [{"name": "a", "value": "b"}],
        }
    },
    "http-relative": {"httpGet": {"port": 8080, "path": "healthz", "scheme": "HTTP"}},
    "http-ipv6": {"httpGet": {"port": 8080, "path": "/ä%20", "host": "::1", "scheme": "HTTP", "protocol": "HTTP2"}},
    "http-no-port": {"httpGet": {"port": "", "path": "/a"}},
    "http-slashes": {"httpGet": {"path": "//a:b", "port": 0}},
    "http-colon": {"httpGet": {"path": "a:b", "port": "", "scheme": "HTTP"}},
    "http-marks": {"httpGet": {"path": "/!$&'()*+,;=:@[]|", "port": 1}},
    "tcp": {"tcpSocket": {"port": 80, "host": "h"}},
    "tcp-name": {"tcpSocket": {"port": "p"}},
    "grpc": {"grpc": {"port": 5, "service": "s"}},
    "grpc-empty": {"grpc": {"port": 5, "service": ""}},
    "none": {},
    "grpc-mode": {"grpc": {"port": 5, "service": "s", "mode": "TLS"}},
}

_CONTAINERS: dict[str, Object] = {
    "port": {"ports": [{"containerPort": 80}]},
    "ports": {
        "ports": [
            {"containerPort": 80, "protocol": "TCP", "name": "http", "hostPort": 8080},
            {"containerPort": 53, "protocol": "UDP"},
            {"containerPort": 1, "hostIP": "1.2.3.4", "name": "x"},
        ]
    },
    "port-comma": {"ports": [{"containerPort": 80, "name": "a,b"}]},
    "command": {"command": ["a", "b\nc", ""], "args": ["x y", "-l\n"], "workingDir": "/w"},
    "html": {"command": ['a <b> & "c"', "\u2028\u2029 é 🚀 \\ \t"]},
    "resources": {
        "resources": {
            "limits": {"memory": "1Gi", "cpu": "1000m", "nvidia.com/gpu": "1", "ephemeral-storage": "1.5Gi"},
            "requests": {"cpu": "0.5", "memory": 1000000, "hugepages-2Mi": "2Mi"},
            "claims": [{"name": "c", "request": "r"}],
        }
    },
    "quantities": {
        "resources": {
            "limits": {
                "x.io/q0": "0",
                "x.io/q1": "0Gi",
                "x.io/q2": "100",
                "x.io/q3": "1e3",
                "x.io/q4": "1E3",
                "x.io/q5": "12e6",
                "x.io/q6": "5e-1",
                "x.io/q7": "0.1",
                "x.io/q8": "100m",
                "x.io/q9": "1500m",
                "x.io/q10": "1.5",
                "x.io/q11": "1024",
                "x.io/q12": "1024Ki",
                "x.io/q13": "1000Ki",
                "x.io/q14": "1023Ki",
                "x.io/q15": "0.5Ki",
                "x.io/q16": "512Mi",
                "x.io/q17": "1.1Gi",
                "x.io/q18": "123456789",
                "x.io/q19": "1000000000000",
                "x.io/q20": "1u",
                "x.io/q21": "1n",
                "x.io/q22": "0.1n",
                "x.io/q23": "-5",
                "x.io/q24": "-1.5",
                "x.io/q25": "-1000m",
                "x.io/q26": "+3",
                "x.io/q27": "2P",
                "x.io/q28": "3E",
                "x.io/q29": "4Ei",
                "x.io/q30": "9223372036854775807",
                "x.io/q31": "1e18",
                "x.io/q32": "0.000001",
                "x.io/q33": "1.000",
                "x.io/q34": ".5",
                "x.io/q35": "5.",
                "x.io/q36": "10Ti",
                "x.io/q37": "1000000k",
                "x.io/q38": "1e-9",
                "x.io/q39": "007",
            }
        }
    },
    "env-from": {
        "envFrom": [
            {"configMapRef": {"name": "c"}},
            {"secretRef": {"name": "s", "optional": True}, "prefix": "P_"},
            {},
            {"configMapRef": {"optional": True}, "prefix": "x"},
            {"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}},
        ]
    },
    "env": {
        "resources": {
            "limits": {"memory": "1Gi", "cpu": "1500m"},
            "requests": {"ephemeral-storage": "3M", "hugepages-2Mi": "4Mi"},
        },
        "env": [
            {"name": "A", "value": "1"},
            {"name": "B"},
            {"name": "M", "value": "a\nb\n\nc"},
            {"name": "F", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
            {"name": "F2", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "R0", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            {"name": "R1", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
            {"name": "R2", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
            {"name": "R3", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
            {"name": "R4", "valueFrom": {"resourceFieldRef": {"resource": "requests.cpu"}}},
            {"name": "R5", "valueFrom": {"resourceFieldRef": {"resource": "requests.memory"}}},
            {
                "name": "R6",
                "valueFrom": {"resourceFieldRef": {"resource": "requests.ephemeral-storage", "divisor": "1k"}},
            },
            {"name": "R7", "valueFrom": {"resourceFieldRef": {"resource": "limits.ephemeral-storage"}}},
            {"name": "R8", "valueFrom": {"resourceFieldRef": {"resource": "requests.hugepages-2Mi", "divisor": "1Mi"}}},
            {"name": "R9", "valueFrom": {"resourceFieldRef": {"resource": "limits.hugepages-1Gi"}}},
            {"name": "R10", "valueFrom": {"resourceFieldRef": {"resource": "bogus"}}},
            {
                "name": "R11",
                "valueFrom": {"resourceFieldRef": {"resource": "requests.hugepages-1Gi", "containerName": "other"}},
            },
            {"name": "R12", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}},
            {"name": "R13", "valueFrom": {"resourceFieldRef": {"resource": "limits.nvidia.com/gpu"}}},
            {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            {"name": "S2", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}},
            {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k", "optional": False}}},
            {"name": "FK", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}},
            {"name": "E", "valueFrom": {}},
            {"name": "EV", "value": "x", "valueFrom": {}},
        ],
    },
    "env-no-limits": {
        "env": [
            {"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
            {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.ephemeral-storage"}}},
        ]
    },
    "mounts": {
        "volumeMounts": [
            {"name": "z", "mountPath": "/z"},
            {"name": "a", "mountPath": "/b", "readOnly": True, "subPath": 's"x'},
            {
                "name": "b",
                "mountPath": "/a",
                "subPathExpr": "$(X)",
                "mountPropagation": "Bidirectional",
                "recursiveReadOnly": "Enabled",
            },
            {"name": "c", "mountPath": "/a"},
        ],
        "volumeDevices": [{"name": "d", "devicePath": "/dev/b"}, {"name": "e", "devicePath": "/dev/a"}],
    },
    "devices": {"volumeDevices": [{"name": "d", "devicePath": "/dev/b"}]},
    "seccomp-file": {
        "securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "p"}, "privileged": True}
    },
    "seccomp": {
        "securityContext": {
            "seccompProfile": {"type": "RuntimeDefault"},
            "runAsUser": 0,
            "runAsNonRoot": False,
            "capabilities": {"add": [], "drop": ["ALL"]},
        }
    },
    "lifecycle": {
        "lifecycle": {
            "postStart": {"exec": {"command": ["a"]}},
            "preStop": {"sleep": {"seconds": 0}},
            "stopSignal": "SIGUSR1",
        },
        "stdin": True,
        "tty": False,
        "restartPolicy": "Always",
        "imagePullPolicy": "Always",
        "terminationMessagePath": "/x",
        "unknownField": {"a": 1},
    },
}

EVERYTHING: Object = {
    "metadata": {
        "labels": {"b": "2", "a": "1"},
        "annotations": {
            "z": "1",
            "a": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "m": "l1\nl2\n",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "kkkkkkkkkkkkkkkkkkkk": "vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv",
            "kkkkkkkkkkkkkkkkkkk": "vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv",
            "multi": "a\n"
            "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
        },
    },
    "spec": {
        "serviceAccountName": "sa",
        "serviceAccount": "sa",
        "initContainers": [{"name": "i", "image": "x"}, {"name": "i2", "image": "y", "restartPolicy": "Always"}],
        "containers": [{"name": "c1", "image": "z"}, {"name": "c2", "image": "z2"}],
        "ephemeralContainers": [{"name": "e", "image": "e"}],
        "priorityClassName": "high",
        "nodeSelector": {"x": "y", "a": ""},
        "tolerations": [
            {"operator": "Exists"},
            {"key": "z", "operator": "Equal", "value": "v", "effect": "NoSchedule"},
            {"key": "b", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            {"key": "b"},
            {"effect": "NoExecute", "operator": "Exists"},
            {"key": "g", "operator": "Gt", "value": "5", "effect": "NoSchedule"},
            {"key": "g", "operator": "Exists", "value": "q"},
            {"key": "c", "tolerationSeconds": 0},
            {},
        ],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {
                    "matchLabels": {"a": "b", "0": "1"},
                    "matchExpressions": [
                        {"key": "k", "operator": "In", "values": ["b", "a"]},
                        {"key": "e", "operator": "Exists"},
                    ],
                },
            },
            {"maxSkew": 2, "topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 2},
            {"maxSkew": 2, "topologyKey": "i", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}},
            {
                "maxSkew": 2,
                "topologyKey": "j",
                "whenUnsatisfiable": "x",
                "labelSelector": {"matchExpressions": [{"key": "k", "operator": "Bogus"}]},
            },
        ],
        "schedulingGroup": {"podGroupName": "pg"},
        "hostNetwork": True,
        "dnsPolicy": "Default",
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {}}],
            },
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "t", "labelSelector": {}}]
            },
        },
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "resources": {"limits": {"cpu": "1"}},
        "readinessGates": [{"conditionType": "a"}],
        "runtimeClassName": "rc",
        "imagePullSecrets": [{"name": "x"}],
        "resourceClaims": [{"name": "rc", "resourceClaimName": "y"}],
        "overhead": {"cpu": "1"},
    },
}

_ODD: dict[str, Object] = {
    "empty": {},
    "empty-spec": {"metadata": {}, "spec": {}},
    "no-containers": {"spec": {"containers": []}},
    "null-containers": {"spec": {"containers": None, "volumes": None}},
    "only-last-applied": {
        "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}},
        "spec": {},
    },
    "annotations-140": {
        "metadata": {
            "annotations": {
                "k": "vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv",
                "l": "vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv",
                "m": "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüv",
                "n": "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü",
                "o": "",
                "p": "\n",
                "q": "a\n\nb\n\n",
                "r": "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü",
            }
        },
        "spec": {},
    },
    "labels": {
        "metadata": {"labels": {"b": "2", "a": "", "é": "x"}, "name": "ignored", "creationTimestamp": None},
        "spec": {},
    },
    "zeroes": {
        "metadata": {"generation": 0},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "activeDeadlineSeconds": 0,
            "priority": 0,
            "hostNetwork": False,
            "shareProcessNamespace": False,
            "enableServiceLinks": False,
            "hostname": "",
            "restartPolicy": "",
            "securityContext": {},
            "affinity": {},
            "dnsConfig": {"options": [{"name": "x"}, {"value": ""}]},
            "containers": [{"name": "", "image": "", "command": [], "env": [], "ports": [{}], "livenessProbe": {}}],
            "nodeSelector": {},
            "tolerations": [],
            "hostAliases": [{}],
            "imagePullSecrets": [{}],
            "runtimeClassName": "",
            "os": {"name": ""},
            "overhead": {"cpu": "0"},
        },
    },
    "two-sources": {
        "spec": {
            "volumes": [{"name": "none"}, {"name": "two", "hostPath": {"path": "/p"}, "emptyDir": {}}],
            "containers": [],
        }
    },
    "times": {
        "metadata": {
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "deletionTimestamp": "2026-01-02T03:04:05Z",
            "finalizers": ["x"],
            "ownerReferences": [{"kind": "K"}],
        },
        "spec": {},
    },
}

_NUMBERS = {
    "initialDelaySeconds": 1,
    "timeoutSeconds": 2,
    "periodSeconds": 3,
    "successThreshold": 4,
    "failureThreshold": 5,
}

TEMPLATES: dict[str, Object] = {
    **{
        f"volume-{kind.lower()}": template(volumes=[{"name": f"v{n}", kind: one} for n, one in enumerate(sources)])
        for kind, sources in VOLUMES.items()
    },
    **{
        f"probe-{name}": _container(
            livenessProbe={**probe, **_NUMBERS},
            readinessProbe=probe,
            startupProbe={**probe, "terminationGracePeriodSeconds": 3},
        )
        for name, probe in PROBES.items()
    },
    **{f"container-{name}": _container(**fields) for name, fields in _CONTAINERS.items()},
    "everything": EVERYTHING,
    **_ODD,
}
"""Templates by names that a Deployment can have."""
