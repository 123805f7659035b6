// Texts for Flux. Paths and names are those that the flux-view images expect.
#include "plugins/flux_scripts.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace cotrain::plugins {
namespace {

// "0" or "0-3": numbers in Flux's notation.
std::string range(std::int64_t count) { return count <= 1 ? "0" : "0-" + std::to_string(count - 1); }

// "job-node-0-[0-3]", for every replica.
std::string host_list(const flux_settings& s) {
    const std::string pods = "-[" + range(s.nodes / std::max<std::int64_t>(s.replicas, 1)) + "]";
    std::string out;
    for (std::int64_t replica = 0; replica < s.replicas; ++replica) {
        out.append(out.empty() ? "" : ",").append(s.host_prefix).append(std::to_string(replica)).append(pods);
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

}  // namespace cotrain::plugins
