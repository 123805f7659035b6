// From many findings to their causes: what runs, and what follows from what.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/doctor/judge.hpp"
#include "doc/json.hpp"

namespace cotrain::app {

namespace {

constexpr std::string_view install_job_set = "install JobSet: https://jobset.sigs.k8s.io/docs/installation/";

bool names_root(std::string_view list, std::string_view root) {
    while (!list.empty()) {
        const std::string_view word = list.substr(0, list.find(' '));
        if (word == root) return true;
        list.remove_prefix(std::min(list.size(), word.size() + 1));
    }
    return false;
}

// The problem that this one follows from, as far up as they lead; itself where it follows from none.
std::size_t cause_of(const findings& all, std::size_t i) {
    for (std::size_t steps = 0; steps < all.size(); ++steps) {
        const auto up = std::ranges::find_if(all, [&](const finding& f) {
            return f.how == verdict::problem && !f.root.empty() && f.root != all[i].root &&
                   names_root(all[i].from, f.root);
        });
        if (up == all.end()) break;
        i = static_cast<std::size_t>(up - all.begin());
    }
    return i;
}

}  // namespace

findings fold(findings all) {
    std::vector<std::size_t> follow(all.size());
    std::vector<bool> left_out(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::size_t cause = all[i].how == verdict::fine ? i : cause_of(all, i);
        left_out[i] = cause != i;
        if (left_out[i]) ++follow[cause];
    }
    findings out;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (left_out[i]) continue;
        if (follow[i] != 0)
            all[i].what += fmt::format(" ({} more finding{} follow{} from this)", follow[i], follow[i] == 1 ? "" : "s",
                                       follow[i] == 1 ? "s" : "");
        out.push_back(std::move(all[i]));
    }
    return out;
}

findings judge_operator(findings deployments, finding lease) {
    const auto says_none = [](const finding& f) { return f.root == roots::no_operator; };
    const bool runs = lease.root.empty() || !std::ranges::all_of(deployments, says_none);
    const auto other = std::ranges::find(deployments, "leftovers", &finding::area);
    if (runs) {
        // Whatever one of them lacks, the other shows that it runs.
        for (finding& each : deployments)
            if (each.area != "leftovers") each.root = {};
        lease.root = {};
        deployments.push_back(std::move(lease));
        return deployments;
    }
    if (other != deployments.end()) {  // in whose place ours does not run
        lease.root = {};
        lease.from = roots::no_operator;
        deployments.push_back(std::move(lease));
        return deployments;
    }
    std::string what = "the operator does not run: ";
    for (const finding& each : deployments) what += each.what + "; ";
    const finding& first = deployments.empty() || deployments.front().remedy.empty() ? lease : deployments.front();
    return {{.how = verdict::problem,
             .area = "operator",
             .what = what + lease.what,
             .remedy = first.remedy,
             .root = roots::no_operator,
             .from = roots::not_installed}};
}

finding judge_job_set_controller(std::string_view leases, std::string_view deployments, std::chrono::sys_seconds now) {
    finding out{.area = "jobset", .what = {}, .from = roots::no_job_set};
    doc::arena memory;
    const auto held = doc::parse_json(memory, leases);
    const auto made = doc::parse_json(memory, deployments);
    if (!held || !made) {
        out.how = verdict::unknown;
        out.what = held ? made.error().message : held.error().message;
        return out;
    }
    for (const doc::ref each : held->get("items").items()) {
        const finding said = judge_lease(doc::to_json(each), job_set_lease, true, now);
        out.what = "JobSet's controller: " + said.what;
        if (said.how == verdict::fine) return out;
    }
    // Where it runs as one replica, leader election may be off.
    for (const doc::ref each : made->get("items").items()) {
        const auto ready = each.get({"status", "readyReplicas"}).as_int(0);
        out.what =
            fmt::format("JobSet's controller {}/{}: {} of {} ready", each.get({"metadata", "namespace"}).as_string(),
                        each.get({"metadata", "name"}).as_string(), ready, each.get({"spec", "replicas"}).as_int(1));
        if (ready > 0 && held->get("items").empty()) return out;
        out.remedy =
            fmt::format("kubectl describe deployment -n {} {}, and the log of its Pods, say why",
                        each.get({"metadata", "namespace"}).as_string(), each.get({"metadata", "name"}).as_string());
    }
    out.how = verdict::problem;
    if (out.what.empty())
        out.what = fmt::format("no sign of JobSet's controller: no Lease {}, no Deployment with {}", job_set_lease,
                               job_set_deployments);
    out.what += ": JobSets get no Jobs, and TrainJobs no Pods";
    if (out.remedy.empty()) out.remedy = install_job_set;
    return out;
}

findings judge_rights(findings missing, std::size_t missing_rights, std::size_t asked, std::string_view who) {
    for (finding& each : missing) each.from = roots::not_installed;
    if (missing.size() <= right_lines_max) return missing;
    finding all{.how = verdict::advice, .area = "rights", .what = {}, .from = roots::not_installed};
    for (const finding& each : missing)
        if (each.how == verdict::problem) all.how = verdict::problem;
    const auto first = std::ranges::find(missing, all.how, &finding::how);
    all.what = missing_rights == asked
                   ? fmt::format("{} has none of the {} rights that the operator needs", who, asked)
                   : fmt::format("{} of {} rights are missing; the first: {}", missing_rights, asked, first->what);
    all.remedy = first->remedy;
    return {std::move(all)};
}

}  // namespace cotrain::app
