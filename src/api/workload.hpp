// Names of Kubernetes' own gangs: the Workload API, since 1.36 behind its feature gate GenericWorkload.
#pragma once

#include <string_view>

#include "api/names.hpp"

namespace cotrain::api::names {

inline constexpr resource_type workload{"scheduling.k8s.io", "v1beta1", "Workload",
                                        "workloads",         true,      "scheduling.k8s.io/v1beta1"};
inline constexpr resource_type pod_group{"scheduling.k8s.io", "v1beta1", "PodGroup",
                                         "podgroups",         true,      "scheduling.k8s.io/v1beta1"};
// As 1.36 has them, and no other version.
inline constexpr resource_type workload_v1alpha2{"scheduling.k8s.io", "v1alpha2", "Workload",
                                                 "workloads",         true,       "scheduling.k8s.io/v1alpha2"};
inline constexpr resource_type pod_group_v1alpha2{"scheduling.k8s.io", "v1alpha2", "PodGroup",
                                                  "podgroups",         true,       "scheduling.k8s.io/v1alpha2"};
// Of a TrainJob, ours: the label of Nodes whose value all Pods of a gang are to share.
inline constexpr std::string_view topology_annotation = "trainer.kubeflow.org/topology";

}  // namespace cotrain::api::names
