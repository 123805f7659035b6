// Volumes, installer and wrapped command of the trainer's pods; the scripts' ConfigMap and the certificate's Secret.
#include "plugins/builtin.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>

#include "api/names.hpp"
#include "api/validation.hpp"
#include "base/encoding.hpp"
#include "plugins/flux.hpp"
#include "plugins/keys.hpp"
#include "runtime/container.hpp"
#include "runtime/guards.hpp"

namespace cotrain::plugins {

// --- texts: paths and names are those that the flux-view images expect -----------------------------------------------

namespace {

// "0" or "0-3": numbers in Flux's notation.
std::string range(std::int64_t count) { return count <= 1 ? "0" : "0-" + std::to_string(count - 1); }

// "job-node-0-[0-3]", for every replica.
std::string host_list(const flux_settings& s) {
    const auto replicas = std::max<std::int64_t>(static_cast<std::int64_t>(s.replicas.size()), 1);
    const std::string pods = "[" + range(s.nodes / replicas) + "]";
    std::string out;
    for (const runtime::host_name first : s.replicas) {
        out.append(out.empty() ? "" : ",").append(first.short_text());
        out.replace(out.size() - 1, 1, pods);  // the pod's number, 0
    }
    return out;
}

// Puts values where the text has @NAME@.
std::string fill(std::string_view text, std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
    std::string out;
    out.reserve(text.size() + 512);
    while (!text.empty()) {
        const std::size_t mark = text.find('@');
        out.append(text.substr(0, mark));
        if (mark == std::string_view::npos) break;
        text.remove_prefix(mark);
        bool known = false;
        for (const auto& [key, value] : values) {
            if (!text.substr(1).starts_with(key) || !text.substr(1 + key.size()).starts_with('@')) continue;
            out.append(value);
            text.remove_prefix(key.size() + 2);
            known = true;
            break;
        }
        if (!known) {
            out += '@';
            text.remove_prefix(1);
        }
    }
    return out;
}

constexpr std::string_view broker_config = R"sh([access]
allow-guest-user = true
allow-root-owner = true

[resource]
path = "/mnt/flux/config/etc/flux/system/R"

[bootstrap]
curve_cert = "/mnt/flux/config/etc/curve/curve.cert"
default_port = 8050
default_bind = "tcp://@DEVICE@:%p"
default_connect = "tcp://%h.@DOMAIN@:%p"
hosts = [
{ host="@HOSTS@"},
]

[archive]
dbpath = "/mnt/flux/config/var/lib/flux/job-archive.sqlite"
period = "1m"
busytimeout = "50s"

[sched-fluxion-qmanager]
queue-policy = "@POLICY@")sh";

constexpr std::string_view init_script = R"sh(#!/bin/bash
# Configures the Flux brokers of this job and copies Flux out of its view into the volume that the trainer mounts.
set -e
fluxroot=/opt/view
mainHost="@MAIN@"
hosts="@HOSTS@"
target=/mnt/flux
config=${target}/config

export PATH=${fluxroot}/bin:${PATH}
echo "Preparing Flux on $(hostname), led by ${mainHost}"

mkdir -p ${config}/etc/flux/system/cron.d ${config}/etc/flux/config ${config}/etc/curve
mkdir -p ${config}/var/lib/flux ${config}/run/flux ${target}/view ${fluxroot}/bin

echo "${hosts}" > ${config}/etc/flux/system/hostlist
cat <<EOT > ${config}/etc/flux/config/broker.toml
@BROKER@
EOT

# /opt/view is a link into the only directory here.
view=$(find /opt/views/._view -mindepth 1 -maxdepth 1 -type d | head -n 1)
cp -R "${view}"/. ${target}/view/
cp -R /opt/software ${target}/
echo "Flux is in place"
)sh";

constexpr std::string_view entrypoint_script = R"sh(#!/bin/bash
# Starts a Flux broker in this pod; the broker of the main host runs the job's command, given as arguments.
target=/mnt/flux
view=${target}/view
config=${target}/config
mainHost="@MAIN@"
flags="@FLAGS@"
command="$*"

mkdir -p /opt/software
cp -R ${target}/software/. /opt/software/

# Flux brings its own Python modules; the image's programs come first on the path.
export PATH=${PATH}:${view}/bin
python=$(find ${view}/lib -maxdepth 1 -name 'python3*' 2>/dev/null | head -n 1)
if [ -n "${python}" ]; then
    export PYTHONPATH=${PYTHONPATH:+${PYTHONPATH}:}${python}/site-packages
fi
export FLUX_RC_EXTRA=${view}/etc/flux/rc1.d

# To be sourced by a person who looks into the pod.
cat <<EOT > ${target}/flux-view.sh
export PATH=${PATH}
export PYTHONPATH=${PYTHONPATH}
export LD_LIBRARY_PATH=\${LD_LIBRARY_PATH:+\${LD_LIBRARY_PATH}:}${view}/lib
export fluxsocket=local://${config}/run/flux/local
EOT

# ZeroMQ wants the certificate readable by its owner only; mounted Secrets are links.
certificate=${config}/etc/curve/curve.cert
cp /curve/curve.cert ${certificate}
chown "$(id -u)" ${certificate}
chmod 0600 ${certificate}

hosts=$(cat ${config}/etc/flux/system/hostlist)
flux R encode --hosts=${hosts} @RESOURCES@ > /tmp/R
mv /tmp/R ${config}/etc/flux/system/R

export STATE_DIR=${config}/var/lib/flux
export FLUX_OUTPUT_DIR=/tmp/fluxout
mkdir -p ${STATE_DIR} ${FLUX_OUTPUT_DIR} ${config}/etc/flux/system/cron.d

brokerConfig=${config}/etc/flux/config
brokerOptions="-Scron.directory=${config}/etc/flux/system/cron.d -Stbon.fanout=256 -Srundir=${config}/run/flux"
brokerOptions="${brokerOptions} -Sstatedir=${STATE_DIR} -Slocal-uri=local://${config}/run/flux/local"
brokerOptions="${brokerOptions} -Slog-stderr-level=0 -Slog-stderr-mode=local"

if [ "$(hostname)" = "${mainHost}" ]; then
    if [ -z "${command}" ]; then
        exec flux broker --config-path ${brokerConfig} ${brokerOptions}
    fi
    echo "Running with ${flags}: ${command}"
    exec flux start -o --config ${brokerConfig} ${brokerOptions} flux run ${flags} ${command}
fi

# The others follow: they come up before the main host does, and end when it ends.
until flux start -o --config ${brokerConfig} ${brokerOptions}; do
    echo "The main host is not ready, trying again in 15 seconds"
    sleep 15
done
)sh";

}  // namespace

std::string flux_init_script(const flux_settings& s) {
    const std::string hosts = host_list(s);
    const std::string broker =
        fill(broker_config,
             {{"DEVICE", s.network_device}, {"DOMAIN", s.domain}, {"HOSTS", hosts}, {"POLICY", s.queue_policy}});
    return fill(init_script, {{"MAIN", s.main_host}, {"HOSTS", hosts}, {"BROKER", broker}});
}

std::string flux_entrypoint_script(const flux_settings& s) {
    std::string flags = "-N " + std::to_string(s.nodes) + " -n " + std::to_string(s.tasks_per_node * s.nodes);
    std::string resources = "--cores=" + range(s.tasks_per_node);
    if (s.gpus_per_node > 0) {
        flags += " -g " + std::to_string(s.gpus_per_node);
        resources += " --gpu=" + range(s.gpus_per_node);
    }
    return fill(entrypoint_script, {{"MAIN", s.main_host}, {"FLAGS", flags}, {"RESOURCES", resources}});
}

std::string flux_certificate(std::string_view job_name, const runtime::curve_key& key) {
    std::string out = "#  ZeroMQ CURVE Secret Certificate\n#  Generated by Kubeflow Trainer\n\nmetadata\n    name = \"";
    out.append(job_name).append("\"\ncurve\n    public-key = \"").append(key.public_text);
    return out.append("\"\n    secret-key = \"").append(key.secret_text).append("\"\n");
}

// --- the plugin ------------------------------------------------------------------------------------------------------

namespace {

using doc::editor;
using doc::ref;
namespace names = api::names;

constexpr std::string_view installer = "flux-installer";
constexpr std::string_view config_path = "/etc/flux-config";
constexpr std::string_view install_volume = "flux-install";
constexpr std::string_view install_path = "/mnt/flux";
constexpr std::string_view software_volume = "spack-install";
constexpr std::string_view software_path = "/opt/software";
constexpr std::string_view curve_volume = "flux-curve";
constexpr std::string_view curve_path = "/curve";
constexpr std::string_view memory_volume = "shared-memory";
constexpr std::string_view memory_path = "/dev/shm";
// Quantities may be beyond all machines: the product with the nodes is to stay a number.
constexpr std::int64_t tasks_per_node_max = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t script_mode = 0755;
constexpr std::int32_t curve_mode = 0400;

const api::flux_policy* policy_of(const runtime::info& i) {
    return i.ml() != nullptr && i.ml()->flux ? &*i.ml()->flux : nullptr;
}

// Named after the ConfigMap, as long as volumes may have such a name.
std::string scripts_volume(const api::train_job& job) {
    std::string full = runtime::child_name(job, names::flux_entrypoint_suffix);
    return full.size() <= api::dns_label_bytes_max ? full : std::string(names::flux_entrypoint_suffix.substr(1));
}

// A setting from the job's environment, else from the container's, else its default.
std::string setting(const runtime::container& c, const api::train_job& job, std::string_view variable,
                    std::string_view otherwise) {
    if (job.spec.trainer) {
        const ref own = job.spec.trainer->env.find_by("name", variable).get("value");
        if (own.is_string()) return std::string(own.text());
    }
    return std::string(c.env(variable).as_string(otherwise));
}

flux_settings settings_of(runtime::info& i, const api::train_job& job, const api::flux_policy& policy) {
    const runtime::container c = i.trainer_container();
    flux_settings s;
    const runtime::host_name main = i.master();
    s.main_host = main.short_text();
    s.replicas = {main.trainjob, main.job, main.subdomain,
                  static_cast<std::uint32_t>(std::max(i.trainer()->replicas, 0)), 1};
    s.domain = std::string(i.subdomain()) + "." + std::string(job.meta.ns) + ".svc.cluster.local";
    s.view_image = setting(c, job, "FLUX_VIEW_IMAGE", "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy");
    s.network_device = setting(c, job, "FLUX_NETWORK_DEVICE", "eth0");
    s.queue_policy = setting(c, job, "FLUX_QUEUE_POLICY", "fcfs");
    s.nodes = i.nodes();
    s.tasks_per_node = policy.num_proc_per_node.value_or(1);
    const api::process_count wanted = runtime::wanted_processes(job);
    const ref resources = i.trainer_resources();
    if (wanted.is_number()) s.tasks_per_node = wanted.count;
    if (wanted.kind == api::process_count::form::cpu)
        s.tasks_per_node = std::clamp<std::int64_t>(runtime::cpus_of(resources), 1, tasks_per_node_max);
    s.gpus_per_node = runtime::gpus_of(resources);
    return s;
}

// The command that the pods would run without Flux, as one line.
std::string original_command(const runtime::info& i, ref container) {
    std::string line;
    const auto append = [&](ref words) {
        for (const ref word : words.items()) line.append(line.empty() ? "" : " ").append(word.as_string());
    };
    append(i.command().is_array() ? i.command() : container.get("command"));
    append(i.args().is_array() ? i.args() : container.get("args"));
    constexpr std::string_view blanks = " \t\r\n";
    const std::size_t first = line.find_first_not_of(blanks);
    if (first == std::string::npos) return {};
    return line.substr(first, line.find_last_not_of(blanks) - first + 1);
}

void put_volumes(editor pod_spec, const api::train_job& job) {
    runtime::put_volume(pod_spec, software_volume, "emptyDir");
    runtime::put_volume(pod_spec, install_volume, "emptyDir");
    runtime::put_volume(pod_spec, scripts_volume(job), "configMap")
        .set("name", runtime::child_name(job, names::flux_entrypoint_suffix))
        .set("defaultMode", script_mode);
    runtime::put_volume(pod_spec, memory_volume, "emptyDir").set("medium", "Memory");
    runtime::put_volume(pod_spec, curve_volume, "secret")
        .set("secretName", runtime::child_name(job, names::flux_curve_suffix))
        .set("defaultMode", curve_mode);
}

void put_installer(editor pod_spec, const api::train_job& job, std::string_view image) {
    editor document = editor::object(pod_spec.memory());
    document.set("name", installer).set("image", image);
    document.ensure_array("command").append("/bin/bash").append("/etc/flux-config/init.sh");
    runtime::container c(document);
    c.put_mount(install_volume, install_path);
    c.put_mount(scripts_volume(job), config_path, true);
    pod_spec.ensure_array("initContainers").upsert_by({"name"}, document);
}

// Random (contract, difference 31): anyone who has the key commands the job's pods.
base::result<runtime::object> key_secret(const runtime::info& i, const api::train_job& job,
                                         const runtime::observed& seen) {
    if (!seen.make_curve_key) return base::fail(base::errc::internal, "no source of CURVE keys");
    const auto key = seen.make_curve_key();
    if (!key) return base::fail(key.error());
    const std::string secret_name = runtime::child_name(job, names::flux_curve_suffix);
    editor secret = runtime::new_child(i.memory(), names::secret, secret_name, job);
    secret.set("immutable", true);
    secret.ensure_object("data").set("curve.cert", base::encode_base64(flux_certificate(job.meta.name, *key)));
    return runtime::finish(names::secret, secret_name, secret);
}

}  // namespace

base::result<> flux::enforce_ml_policy(runtime::info& i, const api::train_job& job) const {
    const api::flux_policy* const policy = policy_of(i);
    if (policy == nullptr) return {};
    runtime::scale_trainer(i, job);
    runtime::container c = i.trainer_container();
    if (!c) return {};
    const flux_settings s = settings_of(i, job, *policy);

    editor command = editor::array(i.memory());
    command.append("/bin/bash").append("/etc/flux-config/entrypoint.sh").append(original_command(i, c.view()));
    i.wrap_command(command);
    i.wrap_args(ref::empty_array());  // they are part of the line now

    const editor pod_spec = i.pod_spec(*i.trainer());
    put_volumes(pod_spec, job);
    put_installer(pod_spec, job, s.view_image);
    c.put_mount(install_volume, install_path);
    c.put_mount(software_volume, software_path);
    c.put_mount(scripts_volume(job), config_path, true);
    c.put_mount(curve_volume, curve_path, true);
    c.put_mount(memory_volume, memory_path, true);
    return {};
}

base::result<> flux::build(runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                           runtime::object_list& out) const {
    const api::flux_policy* const policy = policy_of(i);
    if (policy == nullptr || !i.trainer_container()) return {};
    const flux_settings s = settings_of(i, job, *policy);
    if (s.replicas.bytes(0) > runtime::config_bytes_max) {
        return base::fail(base::errc::too_large,
                          "the hosts of " + std::to_string(s.replicas.size()) + " replicas do not fit a ConfigMap");
    }
    const std::string map_name = runtime::child_name(job, names::flux_entrypoint_suffix);
    editor map = runtime::new_child(i.memory(), names::config_map, map_name, job);
    map.ensure_object("data").set("entrypoint.sh", flux_entrypoint_script(s)).set("init.sh", flux_init_script(s));
    out.push_back(runtime::finish(names::config_map, map_name, map));

    const auto wanted = runtime::to_be_made(certificate, job, seen, out);
    if (!wanted) return base::fail(wanted.error());
    if (!*wanted) return {};
    auto secret = key_secret(i, job, seen);
    if (!secret) return base::fail(std::move(secret.error()));
    out.push_back(std::move(*secret));
    return {};
}

void flux::validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const {
    const api::flux_policy* const policy = policy_of(i);
    if (policy == nullptr) return;
    std::int64_t processes = policy->num_proc_per_node.value_or(1);
    if (r.job.spec.trainer && r.job.spec.trainer->num_proc_per_node.is_number()) {
        processes = r.job.spec.trainer->num_proc_per_node.count;
    }
    if (processes < 1) {
        out.invalid("spec.trainer.numProcPerNode", processes, "must be greater than or equal to 1 for Flux TrainJob");
    }
    for (const auto& set : i.pod_sets()) {
        if (set.name != names::node && set.ancestor != names::ancestor_trainer) continue;
        if (i.pod_spec_view(set).get("initContainers").find_by("name", installer)) {
            out.invalid("spec.trainer.initContainers", installer, "InitContainer 'flux-installer' is reserved");
        }
    }
}

}  // namespace cotrain::plugins
