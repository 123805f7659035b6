// Environment, projected token and CA for pods that report their progress.
#include "plugins/builtin.hpp"

#include "api/names.hpp"

namespace cotrain::plugins {
namespace {

using doc::editor;
namespace names = api::names;

constexpr std::string_view token_volume = "kubeflow-trainer-token";
constexpr std::string_view token_file = "token";
constexpr std::int64_t token_seconds = 3600;

// "trainer.kubeflow.org/v1alpha1/namespaces/<ns>/trainjobs/<name>/status": the token's audience and the URL's tail.
std::string resource_path(const api::train_job& job) {
    std::string path(names::trainer_api_version);
    path.append("/namespaces/").append(job.meta.ns).append("/trainjobs/").append(job.meta.name).append("/status");
    return path;
}

void put_token_volume(editor pod_spec, const api::train_job& job) {
    editor sources = runtime::put_volume(pod_spec, token_volume, "projected").ensure_array("sources");
    sources.append_object()
        .ensure_object("serviceAccountToken")
        .set("audience", resource_path(job))
        .set("expirationSeconds", token_seconds)
        .set("path", token_file);
    editor ca = sources.append_object().ensure_object("configMap");
    ca.set("name", runtime::child_name(job, names::tls_config_suffix));
    ca.ensure_array("items").append_object().set("key", names::ca_key).set("path", names::ca_key);
}

}  // namespace

base::result<> trainjob_status::enforce_ml_policy(runtime::info& i, const api::train_job& job) const {
    const runtime::pod_set* const trainer = i.trainer();
    if (server_url.empty() || trainer == nullptr) return {};
    const std::string url = server_url + "/apis/" + resource_path(job);
    const std::string mount(names::status_mount_path);
    editor containers = i.pod_spec(*trainer).child("containers");
    for (std::size_t k = 0; k < containers.size(); ++k) {
        runtime::container c(containers.child(k));
        c.put_env(names::env_status_url, url);
        c.put_env(names::env_status_ca, mount + "/" + std::string(names::ca_key));
        c.put_env(names::env_status_token, mount + "/" + std::string(token_file));
        c.put_mount(token_volume, mount, true);
    }
    put_token_volume(i.pod_spec(*trainer), job);
    return {};
}

base::result<> trainjob_status::build(const runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                                      runtime::object_list& out) const {
    if (server_url.empty()) return {};
    if (seen.ca_certificate.empty()) {
        return base::fail(base::make_error(base::errc::invalid, base::retry::later,
                                           "the webhook's Secret has no ca.crt for the status server yet"));
    }
    const std::string map_name = runtime::child_name(job, names::tls_config_suffix);
    editor map = runtime::new_child(i.memory(), names::config_map, map_name, job);
    map.ensure_object("data").set(names::ca_key, seen.ca_certificate);
    out.push_back(runtime::finish(names::config_map, map_name, map));
    return {};
}

}  // namespace cotrain::plugins
