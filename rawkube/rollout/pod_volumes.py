"""The volumes of a Pod template as `kubectl describe` (1.37) writes them, every kind of the API. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rawkube._typing import Any
from rawkube.api.objects import Object
from rawkube.rollout import quantity
from rawkube.rollout.prefix_writer import PrefixWriter, write_annotations, write_map

Value = Any  # what JSON can hold

_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def write_volumes(out: PrefixWriter, volumes: Sequence[Object], indent: str) -> None:
    """`volumes`: of a typed Pod template. Of a volume with several sources the first one in kubectl's order counts."""
    if not volumes:
        out.write(0, f"{indent}Volumes:\t<none>\n")
        return
    out.write(0, f"{indent}Volumes:\n")
    for volume in volumes:
        out.write(1, f"{' ' if indent else ''}{volume['name']}:\n")
        source = next((name for name in _ORDER if name in volume), "")
        if not source:
            out.write(1, "<unknown>\n")
        elif source in _ROWS:
            _write_rows(out, volume[source], *_ROWS[source])
        else:
            _SPECIAL[source](out, volume[source])


# The sources that are a title and rows: (label, field, how it is shown).
Row = tuple[str, str, Callable[[Value], str]]


def _text(value: Value) -> str:
    return "" if value is None else str(value)


def _number(value: Value) -> str:
    return str(value or 0)


def _flag(value: Value) -> str:
    return str(bool(value)).lower()


def _or_none(value: Value) -> str:
    return "<none>" if value is None else str(value)


def _list(value: Value) -> str:
    return f"[{' '.join(value or ())}]"


def _commas(value: Value) -> str:
    return ", ".join(value or ())


def _map(value: Value) -> str:
    return f"map[{' '.join(f'{key}:{value[key]}' for key in sorted(value or ()))}]"


def _reference(value: Value) -> str:
    return "nil" if value is None else f"&LocalObjectReference{{Name:{value.get('name', '')},}}"


def _size_limit(value: Value) -> str:
    return str(value) if value is not None and quantity.value(str(value)) > 0 else "<unset>"


_READ_ONLY: Row = ("ReadOnly:\t", "readOnly", _flag)
_FS_TYPE: Row = ("FSType:\t", "fsType", _text)
_SECRET: Row = ("SecretRef:\t", "secretRef", _reference)
_OPTIONAL: Row = ("Optional:\t", "optional", _flag)
_VOLUME_ID: Row = ("VolumeID:\t", "volumeID", _text)
_PARTITION: Row = ("Partition:\t", "partition", _number)
_PATH: Row = ("Path:\t", "path", _text)

_ROWS: Mapping[str, tuple[str, tuple[Row, ...]]] = {
    "hostPath": ("HostPath (bare host directory volume)", (_PATH, ("HostPathType:\t", "type", _or_none))),
    "emptyDir": (
        "EmptyDir (a temporary directory that shares a pod's lifetime)",
        (("Medium:\t", "medium", _text), ("SizeLimit:\t", "sizeLimit", _size_limit)),
    ),
    "gcePersistentDisk": (
        "GCEPersistentDisk (a Persistent Disk resource in Google Compute Engine)",
        (("PDName:\t", "pdName", _text), _FS_TYPE, _PARTITION, _READ_ONLY),
    ),
    "awsElasticBlockStore": (
        "AWSElasticBlockStore (a Persistent Disk resource in AWS)",
        (_VOLUME_ID, _FS_TYPE, _PARTITION, _READ_ONLY),
    ),
    "gitRepo": (
        "GitRepo (a volume that is pulled from git when the pod is created)",
        (("Repository:\t", "repository", _text), ("Revision:\t", "revision", _text)),
    ),
    "secret": ("Secret (a volume populated by a Secret)", (("SecretName:\t", "secretName", _text), _OPTIONAL)),
    "configMap": ("ConfigMap (a volume populated by a ConfigMap)", (("Name:\t", "name", _text), _OPTIONAL)),
    "nfs": (
        "NFS (an NFS mount that lasts the lifetime of a pod)",
        (("Server:\t", "server", _text), _PATH, _READ_ONLY),
    ),
    "iscsi": (
        "ISCSI (an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod)",
        (
            ("TargetPortal:\t", "targetPortal", _text),
            ("IQN:\t", "iqn", _text),
            ("Lun:\t", "lun", _number),
            ("ISCSIInterface\t", "iscsiInterface", _text),
            _FS_TYPE,
            _READ_ONLY,
            ("Portals:\t", "portals", _list),
            ("DiscoveryCHAPAuth:\t", "chapAuthDiscovery", _flag),
            ("SessionCHAPAuth:\t", "chapAuthSession", _flag),
            _SECRET,
            ("InitiatorName:\t", "initiatorName", _or_none),
        ),
    ),
    "glusterfs": (
        "Glusterfs (a Glusterfs mount on the host that shares a pod's lifetime)",
        (("EndpointsName:\t", "endpoints", _text), _PATH, _READ_ONLY),
    ),
    "persistentVolumeClaim": (
        "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        (("ClaimName:\t", "claimName", _text), _READ_ONLY),
    ),
    "rbd": (
        "RBD (a Rados Block Device mount on the host that shares a pod's lifetime)",
        (
            ("CephMonitors:\t", "monitors", _list),
            ("RBDImage:\t", "image", _text),
            _FS_TYPE,
            ("RBDPool:\t", "pool", _text),
            ("RadosUser:\t", "user", _text),
            ("Keyring:\t", "keyring", _text),
            _SECRET,
            _READ_ONLY,
        ),
    ),
    "quobyte": (
        "Quobyte (a Quobyte mount on the host that shares a pod's lifetime)",
        (("Registry:\t", "registry", _text), ("Volume:\t", "volume", _text), _READ_ONLY),
    ),
    "azureDisk": (
        "AzureDisk (an Azure Data Disk mount on the host and bind mount to the pod)",
        (
            ("DiskName:\t", "diskName", _text),
            ("DiskURI:\t", "diskURI", _text),
            ("Kind: \t", "kind", _text),
            _FS_TYPE,
            ("CachingMode:\t", "cachingMode", _text),
            _READ_ONLY,
        ),
    ),
    "vsphereVolume": (
        "vSphereVolume (a Persistent Disk resource in vSphere)",
        (("VolumePath:\t", "volumePath", _text), _FS_TYPE, ("StoragePolicyName:\t", "storagePolicyName", _text)),
    ),
    "cinder": (
        "Cinder (a Persistent Disk resource in OpenStack)",
        (_VOLUME_ID, _FS_TYPE, _READ_ONLY, _SECRET),
    ),
    "photonPersistentDisk": (
        "PhotonPersistentDisk (a Persistent Disk resource in photon platform)",
        (("PdID:\t", "pdID", _text), _FS_TYPE),
    ),
    "portworxVolume": ("PortworxVolume (a Portworx Volume resource)", (_VOLUME_ID,)),
    "scaleIO": (
        "ScaleIO (a persistent volume backed by a block device in ScaleIO)",
        (
            ("Gateway:\t", "gateway", _text),
            ("System:\t", "system", _text),
            ("Protection Domain:\t", "protectionDomain", _text),
            ("Storage Pool:\t", "storagePool", _text),
            ("Storage Mode:\t", "storageMode", _text),
            ("VolumeName:\t", "volumeName", _text),
            _FS_TYPE,
            _READ_ONLY,
        ),
    ),
    "cephfs": (
        "CephFS (a CephFS mount on the host that shares a pod's lifetime)",
        (
            ("Monitors:\t", "monitors", _list),
            _PATH,
            ("User:\t", "user", _text),
            ("SecretFile:\t", "secretFile", _text),
            _SECRET,
            _READ_ONLY,
        ),
    ),
    "storageos": (
        "StorageOS (a StorageOS Persistent Disk resource)",
        (
            ("VolumeName:\t", "volumeName", _text),
            ("VolumeNamespace:\t", "volumeNamespace", _text),
            _FS_TYPE,
            _READ_ONLY,
        ),
    ),
    "fc": (
        "FC (a Fibre Channel disk)",
        (("TargetWWNs:\t", "targetWWNs", _commas), ("LUN:\t", "lun", _or_none), _FS_TYPE, _READ_ONLY),
    ),
    "azureFile": (
        "AzureFile (an Azure File Service mount on the host and bind mount to the pod)",
        (("SecretName:\t", "secretName", _text), ("ShareName:\t", "shareName", _text), _READ_ONLY),
    ),
    "flexVolume": (
        "FlexVolume (a generic volume resource that is provisioned/attached using an exec based plugin)",
        (("Driver:\t", "driver", _text), _FS_TYPE, _SECRET, _READ_ONLY, ("Options:\t", "options", _map)),
    ),
    "flocker": (
        "Flocker (a Flocker volume mounted by the Flocker agent)",
        (("DatasetName:\t", "datasetName", _text), ("DatasetUUID:\t", "datasetUUID", _text)),
    ),
    "image": (
        "Image (a container image or OCI artifact)",
        (("Reference:\t", "reference", _text), ("PullPolicy:\t", "pullPolicy", _text)),
    ),
}


def _write_rows(out: PrefixWriter, source: Object, title: str, rows: Sequence[Row]) -> None:
    lines = [f"Type:\t{title}\n", *(f"    {label}{show(source.get(field))}\n" for label, field, show in rows)]
    out.write(2, "".join(lines))


# The sources that are more than rows.


def _write_projected(out: PrefixWriter, volume: Object) -> None:
    out.write(2, "Type:\tProjected (a volume that contains injected data from multiple sources)\n")
    for source in volume.get("sources") or ():
        if "secret" in source:
            _write_named(out, "SecretName", source["secret"])
        elif "downwardAPI" in source:
            out.write(2, "DownwardAPI:\ttrue\n")
        elif "configMap" in source:
            _write_named(out, "ConfigMapName", source["configMap"])
        elif "serviceAccountToken" in source:
            out.write(
                2, f"TokenExpirationSeconds:\t{_number(source['serviceAccountToken'].get('expirationSeconds'))}\n"
            )


def _write_named(out: PrefixWriter, label: str, source: Object) -> None:
    out.write(2, f"{label}:\t{_text(source.get('name'))}\n    Optional:\t{_flag(source.get('optional'))}\n")


def _write_downward(out: PrefixWriter, volume: Object) -> None:
    out.write(2, "Type:\tDownwardAPI (a volume populated by information about the pod)\n    Items:\n")
    for item in volume.get("items", ()):
        if "fieldRef" in item:
            out.write(3, f"{item['fieldRef']['fieldPath']} -> {item['path']}\n")
        if "resourceFieldRef" in item:
            out.write(3, f"{item['resourceFieldRef']['resource']} -> {item['path']}\n")


def _write_csi(out: PrefixWriter, volume: Object) -> None:
    rows: tuple[Row, ...] = (("Driver:\t", "driver", _text), _FS_TYPE, _READ_ONLY)
    _write_rows(out, volume, "CSI (a Container Storage Interface (CSI) volume source)", rows)
    write_map(out, "VolumeAttributes", volume.get("volumeAttributes"), level=2, cuts=True)


def _write_ephemeral(out: PrefixWriter, volume: Object) -> None:
    what = "an inline specification for a volume that gets created and deleted with the pod"
    out.write(2, f"Type:\tEphemeralVolume ({what})\n")
    if "volumeClaimTemplate" in volume:
        _write_claim(out.nested(2), volume["volumeClaimTemplate"])


def _write_claim(out: PrefixWriter, claim: Object) -> None:
    metadata, spec = claim["metadata"], claim["spec"]
    annotations = metadata.get("annotations") or {}
    out.write(0, f"StorageClass:\t{annotations.get(_BETA_CLASS, spec.get('storageClassName', ''))}\n")
    out.write(0, f"Volume:\t{spec.get('volumeName', '')}\n")
    write_map(out, "Labels", metadata.get("labels"))
    write_annotations(out, "Annotations", annotations)
    # A claim that is bound shows what it got, and a template has nothing yet.
    out.write(0, f"Capacity:\t{'0' if spec.get('volumeName') else ''}\n")
    out.write(0, "Access Modes:\t\n")
    if "volumeMode" in spec:
        out.write(0, f"VolumeMode:\t{spec['volumeMode']}\n")
    if "dataSource" in spec:
        source = spec["dataSource"]
        out.write(0, "DataSource:\n")
        if source.get("apiGroup") is not None:
            out.write(1, f"APIGroup:\t{source['apiGroup']}\n")
        out.write(1, f"Kind:\t{source['kind']}\n")
        out.write(1, f"Name:\t{source['name']}\n")


_SPECIAL: Mapping[str, Callable[[PrefixWriter, Object], None]] = {
    "ephemeral": _write_ephemeral,
    "downwardAPI": _write_downward,
    "projected": _write_projected,
    "csi": _write_csi,
}

_ORDER = (
    *("hostPath", "emptyDir", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "secret", "configMap", "nfs"),
    *("iscsi", "glusterfs", "persistentVolumeClaim", "ephemeral", "rbd", "quobyte", "downwardAPI", "azureDisk"),
    *("vsphereVolume", "cinder", "photonPersistentDisk", "portworxVolume", "scaleIO", "cephfs", "storageos", "fc"),
    *("azureFile", "flexVolume", "flocker", "projected", "csi", "image"),
)
