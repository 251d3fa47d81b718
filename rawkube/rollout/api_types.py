"""The fields of workloads and of all that stands in them, in the order of the API's Go types (apps/v1, core/v1). Pure.

kubectl decodes an object of these kinds into a Go value and writes it as that value says: in the order of the type's
fields, without what the type does not have, with defaults of the encoding (`resources: {}`). What it prints and the
patches that it sends are that text, so the order is part of the protocol here. The table is that of Kubernetes 1.37.
"""

from __future__ import annotations

import re
from functools import cache

from rawkube._typing import NamedTuple

# A type a row (longer ones go on in lines that begin with spaces): its name, its fields. A field is
#     name[!][:type]       `!`: written though it is empty (no `omitempty`); without a type it is a string.
# Types are scalars, other rows, `*` a pointer (absent, or written whatever it is), `[]` a list, `{}` a map by strings.
# `time0` is a time that is left out when it is not set.
_TABLE = """
AWSElasticBlockStoreVolumeSource volumeID! fsType partition:int32 readOnly:bool
Affinity nodeAffinity:*NodeAffinity podAffinity:*PodAffinity podAntiAffinity:*PodAntiAffinity
AppArmorProfile type! localhostProfile:*string
AzureDiskVolumeSource diskName! diskURI! cachingMode:*string fsType:*string readOnly:*bool kind:*string
AzureFileVolumeSource secretName! shareName! readOnly:bool
CSIVolumeSource driver! readOnly:*bool fsType:*string volumeAttributes:{}string
    nodePublishSecretRef:*LocalObjectReference
Capabilities add:[]string drop:[]string
CephFSVolumeSource monitors!:[]string path user secretFile secretRef:*LocalObjectReference readOnly:bool
CinderVolumeSource volumeID! fsType readOnly:bool secretRef:*LocalObjectReference
ClusterTrustBundleProjection name:*string signerName:*string labelSelector:*LabelSelector optional:*bool path!
    user:*int64
ConfigMapEnvSource name optional:*bool
ConfigMapKeySelector name key! optional:*bool
ConfigMapProjection name items:[]KeyToPath optional:*bool
ConfigMapVolumeSource name items:[]KeyToPath defaultMode:*int32 optional:*bool defaultUser:*int64
Container name! image command:[]string args:[]string workingDir ports:[]ContainerPort envFrom:[]EnvFromSource
    env:[]EnvVar resources:ResourceRequirements resizePolicy:[]ContainerResizePolicy restartPolicy:*string
    restartPolicyRules:[]ContainerRestartRule volumeMounts:[]VolumeMount volumeDevices:[]VolumeDevice
    livenessProbe:*Probe readinessProbe:*Probe startupProbe:*Probe lifecycle:*Lifecycle terminationMessagePath
    terminationMessagePolicy imagePullPolicy securityContext:*SecurityContext stdin:bool stdinOnce:bool tty:bool
ContainerPort name hostPort:int32 containerPort!:int32 protocol hostIP
ContainerResizePolicy resourceName! restartPolicy!
ContainerRestartRule action exitCodes:*ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes operator values:[]int32
DaemonSet kind apiVersion metadata:ObjectMeta spec:DaemonSetSpec status:DaemonSetStatus
DaemonSetCondition type! status! lastTransitionTime:time reason message
DaemonSetSpec selector!:*LabelSelector template!:PodTemplateSpec updateStrategy:DaemonSetUpdateStrategy
    minReadySeconds:int32 revisionHistoryLimit:*int32
DaemonSetStatus currentNumberScheduled!:int32 numberMisscheduled!:int32 desiredNumberScheduled!:int32
    numberReady!:int32 observedGeneration:int64 updatedNumberScheduled:int32 numberAvailable:int32
    numberUnavailable:int32 collisionCount:*int32 conditions:[]DaemonSetCondition
DaemonSetUpdateStrategy type rollingUpdate:*RollingUpdateDaemonSet
Deployment kind apiVersion metadata:ObjectMeta spec:DeploymentSpec status:DeploymentStatus
DeploymentCondition type! status! lastUpdateTime:time lastTransitionTime:time reason message
DeploymentSpec replicas:*int32 selector!:*LabelSelector template!:PodTemplateSpec strategy:DeploymentStrategy
    minReadySeconds:int32 revisionHistoryLimit:*int32 paused:bool progressDeadlineSeconds:*int32
DeploymentStatus observedGeneration:int64 replicas:int32 updatedReplicas:int32 readyReplicas:int32
    availableReplicas:int32 unavailableReplicas:int32 terminatingReplicas:*int32 conditions:[]DeploymentCondition
    collisionCount:*int32
DeploymentStrategy type rollingUpdate:*RollingUpdateDeployment
DownwardAPIProjection items:[]DownwardAPIVolumeFile
DownwardAPIVolumeFile path! fieldRef:*ObjectFieldSelector resourceFieldRef:*ResourceFieldSelector mode:*int32
    user:*int64
DownwardAPIVolumeSource items:[]DownwardAPIVolumeFile defaultMode:*int32 defaultUser:*int64
EmptyDirVolumeSource medium sizeLimit:*quantity mode:*int32
EnvFromSource prefix configMapRef:*ConfigMapEnvSource secretRef:*SecretEnvSource
EnvVar name! value valueFrom:*EnvVarSource
EnvVarSource fieldRef:*ObjectFieldSelector resourceFieldRef:*ResourceFieldSelector
    configMapKeyRef:*ConfigMapKeySelector secretKeyRef:*SecretKeySelector fileKeyRef:*FileKeySelector
EphemeralContainer name! image command:[]string args:[]string workingDir ports:[]ContainerPort envFrom:[]EnvFromSource
    env:[]EnvVar resources:ResourceRequirements resizePolicy:[]ContainerResizePolicy restartPolicy:*string
    restartPolicyRules:[]ContainerRestartRule volumeMounts:[]VolumeMount volumeDevices:[]VolumeDevice
    livenessProbe:*Probe readinessProbe:*Probe startupProbe:*Probe lifecycle:*Lifecycle terminationMessagePath
    terminationMessagePolicy imagePullPolicy securityContext:*SecurityContext stdin:bool stdinOnce:bool tty:bool
    targetContainerName
EphemeralVolumeSource volumeClaimTemplate:*PersistentVolumeClaimTemplate
EvictionResponder name! priority!:*int32
ExecAction command:[]string
FCVolumeSource targetWWNs:[]string lun:*int32 fsType readOnly:bool wwids:[]string
FileKeySelector volumeName! path! key! optional:*bool
FlexVolumeSource driver! fsType secretRef:*LocalObjectReference readOnly:bool options:{}string
FlockerVolumeSource datasetName datasetUUID
GCEPersistentDiskVolumeSource pdName! fsType partition:int32 readOnly:bool
GRPCAction port!:int32 service!:*string mode:*string
GitRepoVolumeSource repository! revision directory
GlusterfsVolumeSource endpoints! path! readOnly:bool
HTTPGetAction path port!:intstr host scheme httpHeaders:[]HTTPHeader protocol:*string
HTTPHeader name! value!
HostAlias ip! hostnames:[]string
HostPathVolumeSource path! type:*string
ISCSIVolumeSource targetPortal! iqn! lun!:int32 iscsiInterface fsType readOnly:bool portals:[]string
    chapAuthDiscovery:bool chapAuthSession:bool secretRef:*LocalObjectReference initiatorName:*string
ImageVolumeSource reference pullPolicy
KeyToPath key! path! mode:*int32 user:*int64
LabelSelector matchLabels:{}string matchExpressions:[]LabelSelectorRequirement
LabelSelectorRequirement key! operator! values:[]string
Lifecycle postStart:*LifecycleHandler preStop:*LifecycleHandler stopSignal:*string
LifecycleHandler exec:*ExecAction httpGet:*HTTPGetAction tcpSocket:*TCPSocketAction sleep:*SleepAction
LocalObjectReference name
ManagedFieldsEntry manager operation apiVersion time:*time fieldsType fieldsV1:*any subresource
ModifyVolumeStatus targetVolumeAttributesClassName status!
NFSVolumeSource server! path! readOnly:bool
NodeAffinity requiredDuringSchedulingIgnoredDuringExecution:*NodeSelector
    preferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm
NodeSelector nodeSelectorTerms!:[]NodeSelectorTerm
NodeSelectorRequirement key! operator! values:[]string
NodeSelectorTerm matchExpressions:[]NodeSelectorRequirement matchFields:[]NodeSelectorRequirement
ObjectFieldSelector apiVersion fieldPath!
ObjectMeta name generateName namespace selfLink uid resourceVersion generation:int64 creationTimestamp:time0
    deletionTimestamp:*time deletionGracePeriodSeconds:*int64 labels:{}string annotations:{}string
    ownerReferences:[]OwnerReference finalizers:[]string managedFields:[]ManagedFieldsEntry
OwnerReference apiVersion! kind! name! uid! controller:*bool blockOwnerDeletion:*bool
PersistentVolumeClaim kind apiVersion metadata:ObjectMeta spec:PersistentVolumeClaimSpec
    status:PersistentVolumeClaimStatus
PersistentVolumeClaimCondition type! status! lastProbeTime:time lastTransitionTime:time reason message
PersistentVolumeClaimSpec accessModes:[]string selector:*LabelSelector resources:VolumeResourceRequirements volumeName
    storageClassName:*string volumeMode:*string dataSource:*TypedLocalObjectReference
    dataSourceRef:*TypedObjectReference volumeAttributesClassName:*string
PersistentVolumeClaimStatus phase accessModes:[]string capacity:{}quantity conditions:[]PersistentVolumeClaimCondition
    allocatedResources:{}quantity allocatedResourceStatuses:{}string currentVolumeAttributesClassName:*string
    modifyVolumeStatus:*ModifyVolumeStatus healthStatus:*VolumeHealthStatus
PersistentVolumeClaimTemplate metadata:ObjectMeta spec!:PersistentVolumeClaimSpec
PersistentVolumeClaimVolumeSource claimName! readOnly:bool
PhotonPersistentDiskVolumeSource pdID! fsType
PodAffinity requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
    preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
PodAffinityTerm labelSelector:*LabelSelector namespaces:[]string topologyKey! namespaceSelector:*LabelSelector
    matchLabelKeys:[]string mismatchLabelKeys:[]string
PodAntiAffinity requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
    preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
PodCertificateProjection signerName keyType maxExpirationSeconds:*int32 credentialBundlePath keyPath
    certificateChainPath userAnnotations:{}string user:*int64
PodDNSConfig nameservers:[]string searches:[]string options:[]PodDNSConfigOption
PodDNSConfigOption name value:*string
PodOS name!
PodReadinessGate conditionType!
PodResourceClaim name! resourceClaimName:*string resourceClaimTemplateName:*string
PodSchedulingGate name!
PodSchedulingGroup podGroupName:*string
PodSecurityContext seLinuxOptions:*SELinuxOptions windowsOptions:*WindowsSecurityContextOptions runAsUser:*int64
    runAsGroup:*int64 runAsNonRoot:*bool supplementalGroups:[]int64 supplementalGroupsPolicy:*string fsGroup:*int64
    sysctls:[]Sysctl fsGroupChangePolicy:*string seccompProfile:*SeccompProfile appArmorProfile:*AppArmorProfile
    seLinuxChangePolicy:*string
PodSpec volumes:[]Volume initContainers:[]Container containers!:[]Container ephemeralContainers:[]EphemeralContainer
    restartPolicy terminationGracePeriodSeconds:*int64 activeDeadlineSeconds:*int64 dnsPolicy nodeSelector:{}string
    serviceAccountName serviceAccount automountServiceAccountToken:*bool nodeName hostNetwork:bool hostPID:bool
    hostIPC:bool shareProcessNamespace:*bool securityContext:*PodSecurityContext
    imagePullSecrets:[]LocalObjectReference hostname subdomain affinity:*Affinity schedulerName
    tolerations:[]Toleration hostAliases:[]HostAlias priorityClassName priority:*int32 dnsConfig:*PodDNSConfig
    readinessGates:[]PodReadinessGate runtimeClassName:*string enableServiceLinks:*bool preemptionPolicy:*string
    overhead:{}quantity topologySpreadConstraints:[]TopologySpreadConstraint setHostnameAsFQDN:*bool os:*PodOS
    hostUsers:*bool schedulingGates:[]PodSchedulingGate resourceClaims:[]PodResourceClaim
    resources:*ResourceRequirements hostnameOverride:*string schedulingGroup:*PodSchedulingGroup
    evictionResponders:[]EvictionResponder
PodTemplateSpec metadata:ObjectMeta spec:PodSpec
PortworxVolumeSource volumeID! fsType readOnly:bool
PreferredSchedulingTerm weight!:int32 preference!:NodeSelectorTerm
Probe exec:*ExecAction httpGet:*HTTPGetAction tcpSocket:*TCPSocketAction grpc:*GRPCAction initialDelaySeconds:int32
    timeoutSeconds:int32 periodSeconds:int32 successThreshold:int32 failureThreshold:int32
    terminationGracePeriodSeconds:*int64
ProjectedVolumeSource sources!:[]VolumeProjection defaultMode:*int32 defaultUser:*int64
QuobyteVolumeSource registry! volume! readOnly:bool user group tenant
RBDVolumeSource monitors!:[]string image! fsType pool user keyring secretRef:*LocalObjectReference readOnly:bool
ReplicaSet kind apiVersion metadata:ObjectMeta spec:ReplicaSetSpec status:ReplicaSetStatus
ReplicaSetCondition type! status! lastTransitionTime:time reason message
ReplicaSetSpec replicas:*int32 minReadySeconds:int32 selector!:*LabelSelector template:PodTemplateSpec
ReplicaSetStatus replicas!:int32 fullyLabeledReplicas:int32 readyReplicas:int32 availableReplicas:int32
    terminatingReplicas:*int32 observedGeneration:int64 conditions:[]ReplicaSetCondition
ResourceClaim name! request
ResourceFieldSelector containerName resource! divisor:quantity
ResourceRequirements limits:{}quantity requests:{}quantity claims:[]ResourceClaim
RollingUpdateDaemonSet maxUnavailable:*intstr maxSurge:*intstr
RollingUpdateDeployment maxUnavailable:*intstr maxSurge:*intstr
RollingUpdateStatefulSetStrategy partition:*int32 maxUnavailable:*intstr
SELinuxOptions user role type level
ScaleIOVolumeSource gateway! system! secretRef!:*LocalObjectReference sslEnabled:bool protectionDomain storagePool
    storageMode volumeName fsType readOnly:bool
SeccompProfile type! localhostProfile:*string
SecretEnvSource name optional:*bool
SecretKeySelector name key! optional:*bool
SecretProjection name items:[]KeyToPath optional:*bool
SecretVolumeSource secretName items:[]KeyToPath defaultMode:*int32 optional:*bool defaultUser:*int64
SecurityContext capabilities:*Capabilities privileged:*bool seLinuxOptions:*SELinuxOptions
    windowsOptions:*WindowsSecurityContextOptions runAsUser:*int64 runAsGroup:*int64 runAsNonRoot:*bool
    readOnlyRootFilesystem:*bool allowPrivilegeEscalation:*bool procMount:*string seccompProfile:*SeccompProfile
    appArmorProfile:*AppArmorProfile
ServiceAccountTokenProjection audience expirationSeconds:*int64 path! user:*int64
SleepAction seconds!:int64
StatefulSet kind apiVersion metadata:ObjectMeta spec:StatefulSetSpec status:StatefulSetStatus
StatefulSetCondition type! status! lastTransitionTime:time reason message
StatefulSetOrdinals start!:int32
StatefulSetPersistentVolumeClaimRetentionPolicy whenDeleted whenScaled
StatefulSetSpec replicas:*int32 selector!:*LabelSelector template!:PodTemplateSpec
    volumeClaimTemplates:[]PersistentVolumeClaim serviceName! podManagementPolicy
    updateStrategy:StatefulSetUpdateStrategy revisionHistoryLimit:*int32 minReadySeconds:int32
    persistentVolumeClaimRetentionPolicy:*StatefulSetPersistentVolumeClaimRetentionPolicy
    ordinals:*StatefulSetOrdinals
StatefulSetStatus observedGeneration:int64 replicas!:int32 readyReplicas:int32 currentReplicas:int32
    updatedReplicas:int32 currentRevision updateRevision collisionCount:*int32 conditions:[]StatefulSetCondition
    availableReplicas!:int32
StatefulSetUpdateStrategy type rollingUpdate:*RollingUpdateStatefulSetStrategy
StorageOSVolumeSource volumeName volumeNamespace fsType readOnly:bool secretRef:*LocalObjectReference
Sysctl name! value!
TCPSocketAction port!:intstr host
Toleration key operator value effect tolerationSeconds:*int64
TopologySpreadConstraint maxSkew!:int32 topologyKey! whenUnsatisfiable! labelSelector:*LabelSelector minDomains:*int32
    nodeAffinityPolicy:*string nodeTaintsPolicy:*string matchLabelKeys:[]string
TypedLocalObjectReference apiGroup!:*string kind! name!
TypedObjectReference apiGroup!:*string kind! name! namespace:*string
Volume name! hostPath:*HostPathVolumeSource emptyDir:*EmptyDirVolumeSource
    gcePersistentDisk:*GCEPersistentDiskVolumeSource awsElasticBlockStore:*AWSElasticBlockStoreVolumeSource
    gitRepo:*GitRepoVolumeSource secret:*SecretVolumeSource nfs:*NFSVolumeSource iscsi:*ISCSIVolumeSource
    glusterfs:*GlusterfsVolumeSource persistentVolumeClaim:*PersistentVolumeClaimVolumeSource rbd:*RBDVolumeSource
    flexVolume:*FlexVolumeSource cinder:*CinderVolumeSource cephfs:*CephFSVolumeSource flocker:*FlockerVolumeSource
    downwardAPI:*DownwardAPIVolumeSource fc:*FCVolumeSource azureFile:*AzureFileVolumeSource
    configMap:*ConfigMapVolumeSource vsphereVolume:*VsphereVirtualDiskVolumeSource quobyte:*QuobyteVolumeSource
    azureDisk:*AzureDiskVolumeSource photonPersistentDisk:*PhotonPersistentDiskVolumeSource
    projected:*ProjectedVolumeSource portworxVolume:*PortworxVolumeSource scaleIO:*ScaleIOVolumeSource
    storageos:*StorageOSVolumeSource csi:*CSIVolumeSource ephemeral:*EphemeralVolumeSource image:*ImageVolumeSource
VolumeDevice name! devicePath!
VolumeHealthCondition status! reason! message
VolumeHealthStatus healthConditions:[]VolumeHealthCondition lastTransitionTime:time
VolumeMount name! readOnly:bool recursiveReadOnly:*string mountPath! subPath mountPropagation:*string subPathExpr
    bindMountOptions:[]string
VolumeProjection secret:*SecretProjection downwardAPI:*DownwardAPIProjection configMap:*ConfigMapProjection
    serviceAccountToken:*ServiceAccountTokenProjection clusterTrustBundle:*ClusterTrustBundleProjection
    podCertificate:*PodCertificateProjection
VolumeResourceRequirements limits:{}quantity requests:{}quantity
VsphereVirtualDiskVolumeSource volumePath! fsType storagePolicyName storagePolicyID
WeightedPodAffinityTerm weight!:int32 podAffinityTerm!:PodAffinityTerm
WindowsSecurityContextOptions gmsaCredentialSpecName:*string gmsaCredentialSpec:*string runAsUserName:*string
    hostProcess:*bool
"""


class Field(NamedTuple):
    """One field: its name in JSON, its type as in the table, and whether it is written when it is empty."""

    name: str
    type: str
    always: bool


@cache
def _rows() -> dict[str, str]:
    rows = re.sub(r"\n +", " ", _TABLE.strip()).splitlines()
    return {name: fields for name, _, fields in (row.partition(" ") for row in rows)}


@cache
def fields_of(name: str) -> tuple[Field, ...] | None:
    """The fields of a type in order; None for a scalar."""
    row = _rows().get(name)
    return None if row is None else tuple(map(_field, row.split()))


def _field(text: str) -> Field:
    head, _, kind = text.partition(":")
    return Field(head.removesuffix("!"), kind or "string", head.endswith("!"))
