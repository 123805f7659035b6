// The schema of volumes: every source core/v1 has had, because runtimes may still carry old ones.
#include "runtime/schema_fields.hpp"

namespace cotrain::runtime::schema {
namespace {

constexpr field_info reference_fields[] = {brief("name", R"("")")};
constexpr type_info reference{"LocalObjectReference", reference_fields};

constexpr field_info projected_config_fields[] = {brief("name", R"("")"), list("items"), plain("optional")};
constexpr type_info projected_config{"ConfigMapProjection", projected_config_fields};
constexpr field_info field_ref_fields[] = {brief("apiVersion"), plain("fieldPath")};
constexpr type_info field_ref{"ObjectFieldSelector", field_ref_fields};
constexpr field_info resource_ref_fields[] = {brief("containerName"), plain("resource"), sure_amount("divisor")};
constexpr type_info resource_ref{"ResourceFieldSelector", resource_ref_fields};
constexpr field_info downward_item_fields[] = {plain("path"), object("fieldRef", field_ref),
                                               object("resourceFieldRef", resource_ref), plain("mode")};
constexpr type_info downward_item{"DownwardAPIVolumeFile", downward_item_fields};
constexpr field_info downward_fields[] = {list("items", downward_item), plain("defaultMode")};
constexpr type_info downward{"DownwardAPIVolumeSource", downward_fields};
constexpr field_info token_fields[] = {brief("audience"), plain("expirationSeconds"), plain("path")};
constexpr type_info token{"ServiceAccountTokenProjection", token_fields};
constexpr field_info trust_bundle_fields[] = {object("labelSelector", schema::label_selector)};
constexpr type_info trust_bundle{"ClusterTrustBundleProjection", trust_bundle_fields};
constexpr field_info projection_fields[] = {
    object("secret", projected_config),         object("downwardAPI", downward),
    object("configMap", projected_config),      object("serviceAccountToken", token),
    object("clusterTrustBundle", trust_bundle), opaque("podCertificate")};
constexpr type_info projection{"VolumeProjection", projection_fields};
constexpr field_info projected_fields[] = {list("sources", projection), plain("defaultMode")};
constexpr type_info projected{"ProjectedVolumeSource", projected_fields};

constexpr field_info empty_dir_fields[] = {brief("medium"), amount("sizeLimit")};
constexpr type_info empty_dir{"EmptyDirVolumeSource", empty_dir_fields};
constexpr field_info secret_fields[] = {brief("secretName"), list("items"), plain("defaultMode"), plain("optional")};
constexpr type_info secret{"SecretVolumeSource", secret_fields};
constexpr field_info config_map_fields[] = {brief("name", R"("")"), list("items"), plain("defaultMode"),
                                            plain("optional")};
constexpr type_info config_map{"ConfigMapVolumeSource", config_map_fields};
constexpr field_info claim_fields[] = {plain("claimName"), brief("readOnly")};
constexpr type_info claim{"PersistentVolumeClaimVolumeSource", claim_fields};
constexpr field_info image_fields[] = {brief("reference"), brief("pullPolicy")};
constexpr type_info image{"ImageVolumeSource", image_fields};
constexpr field_info csi_fields[] = {map("volumeAttributes"), object("nodePublishSecretRef", reference)};
constexpr type_info csi{"CSIVolumeSource", csi_fields};
constexpr field_info nfs_fields[] = {brief("readOnly")};
constexpr type_info nfs{"NFSVolumeSource", nfs_fields};

constexpr field_info disk_fields[] = {brief("fsType"), brief("partition"), brief("readOnly")};
constexpr type_info disk{"DiskVolumeSource", disk_fields};
constexpr field_info secret_disk_fields[] = {brief("fsType"), brief("readOnly"), object("secretRef", reference),
                                             map("options")};
constexpr type_info secret_disk{"SecretDiskVolumeSource", secret_disk_fields};
constexpr field_info iscsi_fields[] = {brief("iscsiInterface", R"("default")"),
                                       brief("fsType"),
                                       brief("readOnly"),
                                       list("portals"),
                                       brief("chapAuthDiscovery"),
                                       brief("chapAuthSession"),
                                       object("secretRef", reference)};
constexpr type_info iscsi{"ISCSIVolumeSource", iscsi_fields};
constexpr field_info rbd_fields[] = {brief("fsType"),
                                     brief("pool", R"("rbd")"),
                                     brief("user", R"("admin")"),
                                     brief("keyring", R"("/etc/ceph/keyring")"),
                                     object("secretRef", reference),
                                     brief("readOnly")};
constexpr type_info rbd{"RBDVolumeSource", rbd_fields};
constexpr field_info cephfs_fields[] = {brief("path"), brief("user"), brief("secretFile"),
                                        object("secretRef", reference), brief("readOnly")};
constexpr type_info cephfs{"CephFSVolumeSource", cephfs_fields};
constexpr field_info flocker_fields[] = {brief("datasetName"), brief("datasetUUID")};
constexpr type_info flocker{"FlockerVolumeSource", flocker_fields};
constexpr field_info fibre_fields[] = {list("targetWWNs"), brief("fsType"), brief("readOnly"), list("wwids")};
constexpr type_info fibre{"FCVolumeSource", fibre_fields};
constexpr field_info azure_disk_fields[] = {plain("fsType", R"("ext4")"), plain("readOnly", "false")};
constexpr type_info azure_disk{"AzureDiskVolumeSource", azure_disk_fields};
constexpr field_info vsphere_fields[] = {brief("fsType"), brief("storagePolicyName"), brief("storagePolicyID")};
constexpr type_info vsphere{"VsphereVirtualDiskVolumeSource", vsphere_fields};
constexpr field_info quobyte_fields[] = {brief("readOnly"), brief("user"), brief("group"), brief("tenant")};
constexpr type_info quobyte{"QuobyteVolumeSource", quobyte_fields};
constexpr field_info scale_io_fields[] = {object("secretRef", reference),
                                          brief("sslEnabled"),
                                          brief("protectionDomain"),
                                          brief("storagePool"),
                                          brief("storageMode", R"("ThinProvisioned")"),
                                          brief("volumeName"),
                                          brief("fsType", R"("xfs")"),
                                          brief("readOnly")};
constexpr type_info scale_io{"ScaleIOVolumeSource", scale_io_fields};
constexpr field_info storage_os_fields[] = {brief("volumeName"), brief("volumeNamespace"), brief("fsType"),
                                            brief("readOnly"), object("secretRef", reference)};
constexpr type_info storage_os{"StorageOSVolumeSource", storage_os_fields};

constexpr field_info claim_resources_fields[] = {amounts("limits"), amounts("requests")};
constexpr type_info claim_resources{"VolumeResourceRequirements", claim_resources_fields};
constexpr field_info claim_spec_fields[] = {list("accessModes"),
                                            object("selector", schema::label_selector),
                                            object("resources", claim_resources),
                                            brief("volumeName"),
                                            opaque("dataSource"),
                                            opaque("dataSourceRef")};
constexpr type_info claim_spec{"PersistentVolumeClaimSpec", claim_spec_fields};
constexpr field_info claim_template_fields[] = {object("metadata", schema::object_meta), object("spec", claim_spec),
                                                opaque("status")};
constexpr field_info ephemeral_fields[] = {object("volumeClaimTemplate", schema::persistent_volume_claim)};
constexpr type_info ephemeral{"EphemeralVolumeSource", ephemeral_fields};

constexpr field_info volume_fields[] = {
    plain("name"),
    opaque("hostPath"),
    object("emptyDir", empty_dir),
    object("secret", secret),
    object("configMap", config_map),
    object("persistentVolumeClaim", claim),
    object("projected", projected),
    object("downwardAPI", downward),
    object("ephemeral", ephemeral),
    object("csi", csi),
    object("image", image),
    object("nfs", nfs),
    object("iscsi", iscsi),
    object("fc", fibre),
    object("rbd", rbd),
    object("cephfs", cephfs),
    object("cinder", secret_disk),
    object("flexVolume", secret_disk),
    object("glusterfs", nfs),
    object("gcePersistentDisk", disk),
    object("awsElasticBlockStore", disk),
    object("azureDisk", azure_disk),
    object("azureFile", nfs),
    object("vsphereVolume", vsphere),
    object("photonPersistentDisk", disk),
    object("portworxVolume", disk),
    object("quobyte", quobyte),
    object("scaleIO", scale_io),
    object("storageos", storage_os),
    object("flocker", flocker),
};

}  // namespace

const constinit type_info volume{"Volume", volume_fields, choice::any_but_name};
const constinit type_info persistent_volume_claim{"PersistentVolumeClaim", claim_template_fields};

}  // namespace cotrain::runtime::schema
