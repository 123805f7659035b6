// Hostfile, environment and summary as text.
#include "app/demo_report.hpp"

#include <fmt/format.h>

namespace cotrain::app {

namespace {

double ms(std::chrono::nanoseconds time) { return std::chrono::duration<double, std::milli>(time).count(); }

std::string indented(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        out.append("    ").append(text.substr(0, end)).append("\n");
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

// metadata.annotations['x'], metadata.name, …
std::string field(api::ref pod, std::string_view path) {
    const std::size_t quote = path.find('\'');
    if (quote != std::string_view::npos && path.starts_with("metadata.")) {
        const std::string_view key = path.substr(quote + 1, path.rfind('\'') - quote - 1);
        const std::string_view member = path.starts_with("metadata.annotations") ? "annotations" : "labels";
        return std::string(pod.get({"metadata", member, key}).as_string());
    }
    const std::size_t dot = path.find('.');
    if (dot == std::string_view::npos) return {};
    return std::string(pod.get({path.substr(0, dot), path.substr(dot + 1)}).as_string());
}

std::string times_of(const job_course& job) {
    std::string out = fmt::format("  {:<40}", job.name);
    if (job.job_set) out += fmt::format("JobSet after {:.1f} ms", ms(*job.job_set - job.created));
    if (job.ended) out += fmt::format(", {} after {:.0f} ms", job.condition, ms(*job.ended - job.created));
    return out + "\n";
}

}  // namespace

void demo_traffic::add(const sim::request_note& note) {
    row& of = rows_[{std::string(note.verb), std::string(note.resource)}];
    ++of.requests;
    of.bytes_in += note.bytes_in;
    of.took += note.took;
}

std::string status_line(std::span<const job_course> jobs) {
    std::string out;
    for (const job_course& each : jobs) {
        constexpr std::int64_t cells = 20;
        const auto full = each.pods > 0 ? each.pods_ready * cells / each.pods : 0;
        std::string bar;
        for (std::int64_t i = 0; i < cells; ++i) bar += i < full ? "█" : "░";
        out += fmt::format("{}{} {} {}/{} pods{}", out.empty() ? "  " : "    ", each.name, bar, each.pods_ready,
                           each.pods, each.ended ? " " + each.condition : "");
    }
    return out;
}

std::string show_hostfile(const sim::cluster& all) {
    const sim::record_ptr map =
        all.objects().find(*all.types().find("", "v1", "configmaps"), "default", "mpi-pi-mpi-hostfile");
    if (!map) return {};
    api::arena memory;
    return "\nThe hostfile of mpi-pi (ConfigMap mpi-pi-mpi-hostfile):\n" +
           indented(sim::open(memory, *map).get({"data", "hostfile"}).as_string());
}

std::string show_environment(const sim::cluster& all, std::string_view pod_prefix) {
    const sim::kind& pods = *all.types().find("", "v1", "pods");
    const sim::list_wish first{.version = all.objects().version(),
                               .items_max = 1,
                               .takes = [&](const sim::record& each) { return each.name.starts_with(pod_prefix); }};
    const auto found = all.objects().list(pods, first);
    if (found.empty()) return {};
    api::arena memory;
    const api::ref pod = sim::open(memory, *found[0]);
    std::string lines;
    for (const api::ref each : pod.get({"spec", "containers"}).find_by("name", "node").get("env").items()) {
        const std::string_view path = each.get({"valueFrom", "fieldRef", "fieldPath"}).as_string();
        lines += fmt::format("{}={}\n", each.get("name").as_string(),
                             path.empty() ? std::string(each.get("value").as_string()) : field(pod, path));
    }
    return fmt::format("\nWhat the container node of Pod {} sees:\n{}", found[0]->name, indented(lines));
}

std::string show_summary(std::span<const job_course> jobs, const demo_traffic& traffic,
                         const kube::client_statistics& sent, std::chrono::nanoseconds all) {
    std::string out = "\nWhat it took:\n";
    for (const job_course& each : jobs) out += times_of(each);
    std::uint64_t reads = 0;
    for (const auto& [name, row] : traffic.rows()) {
        if (name.first != "patch" && name.first != "create" && name.first != "update" && name.first != "delete") {
            reads += row.requests;
            continue;
        }
        out += fmt::format("  {:<40}{} requests, {} bytes, {:.1f} ms in the server\n", name.first + " " + name.second,
                           row.requests, row.bytes_in, ms(row.took));
    }
    out += fmt::format("  {:<40}{} requests\n", "get, list, watch", reads);
    out += fmt::format("  {:<40}{} connections, {} bytes out, {} bytes in\n", "the operator's wire", sent.wire.connects,
                       sent.wire.bytes_out, sent.wire.bytes_in);
    return out + fmt::format("  {:<40}{:.1f} s; the Pods were played, everything else was real\n", "all of it",
                             ms(all) / 1000);
}

}  // namespace cotrain::app
