// What each CEL rule of the schemas means.
#include "api/schema/rules.hpp"

#include <algorithm>
#include <array>

#include "api/schema/same.hpp"

namespace cotrain::api::schema {
namespace {

constexpr std::size_t job_name_characters_max = 63;

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_alpha(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool unchanged(const node& schema, ref self, ref old_self) { return same(&schema, self, old_self, set_order::ignored); }

bool name_is_dns_label(const node& /*schema*/, ref self, ref /*old_self*/) {
    const std::string_view name = self.get({"metadata", "name"}).as_string();
    const auto inner = [](char c) { return is_lower(c) || is_digit(c) || c == '-'; };
    return !name.empty() && is_lower(name.front()) && name.back() != '-' && std::ranges::all_of(name, inner);
}

bool name_fits(const node& /*schema*/, ref self, ref /*old_self*/) {
    return count_characters(self.get({"metadata", "name"}).as_string()) <= job_name_characters_max;
}

bool is_storage_uri(const node& /*schema*/, ref self, ref /*old_self*/) {
    const std::string_view uri = self.as_string();
    if (uri.empty()) return self.is_string();
    const auto in_scheme = [](char c) { return is_alpha(c) || is_digit(c) || c == '+' || c == '.' || c == '-'; };
    const std::size_t scheme = static_cast<std::size_t>(std::ranges::find_if_not(uri, in_scheme) - uri.begin());
    if (scheme == 0 || !is_alpha(uri.front()) || !uri.substr(scheme).starts_with("://")) return false;
    const std::string_view rest = uri.substr(scheme + 3);
    return !rest.empty() && !rest.contains('\n');  // "." stands for everything but a line's end
}

bool is_known_manager(const node& /*schema*/, ref self, ref /*old_self*/) {
    return self.as_string() == "trainer.kubeflow.org/trainjob-controller" ||
           self.as_string() == "kueue.x-k8s.io/multikueue";
}

bool has_update_time(const node& /*schema*/, ref self, ref /*old_self*/) { return self.contains("lastUpdatedTime"); }

bool one_framework_at_most(const node& /*schema*/, ref self, ref /*old_self*/) {
    static constexpr std::array<std::string_view, 5> frameworks{"torch", "mpi", "jax", "xgboost", "flux"};
    return std::ranges::count_if(frameworks, [&](std::string_view f) { return self.contains(f); }) <= 1;
}

bool positive(const node& /*schema*/, ref self, ref /*old_self*/) { return self.as_int(0) >= 1; }

bool names_no_node(const node& /*schema*/, ref self, ref /*old_self*/) {
    return std::ranges::none_of(self.items(), [](ref name) { return name.as_string() == "node"; });
}

bool one_start_order_at_most(const node& /*schema*/, ref self, ref /*old_self*/) {
    if (self.get({"startupPolicy", "startupPolicyOrder"}).as_string() != "InOrder") return true;
    const ref jobs = self.get("replicatedJobs");
    // CEL cannot evaluate the rule without the list.
    return jobs && std::ranges::none_of(jobs.items(), [](ref job) { return job.contains("dependsOn"); });
}

bool claims_without_namespace(const node& /*schema*/, ref self, ref /*old_self*/) {
    const ref claims = self.get("templates");
    // Nor without the list, nor for a claim without metadata.
    return claims && std::ranges::all_of(claims.items(), [](ref claim) {
               const ref metadata = claim.get("metadata");
               return metadata && metadata.get("namespace").as_string().empty();
           });
}

constexpr std::array rules{
    rule{"self == oldSelf", true, unchanged},
    rule{"self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')", false, name_is_dns_label},
    rule{"size(self.metadata.name) <= 63", false, name_fits},
    rule{"self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')", false, is_storage_uri},
    rule{"self in ['trainer.kubeflow.org/trainjob-controller', 'kueue.x-k8s.io/multikueue']", false, is_known_manager},
    rule{"has(self.lastUpdatedTime)", false, has_update_time},
    rule{"[has(self.torch), has(self.mpi), has(self.jax), has(self.xgboost), has(self.flux)]"
         ".filter(x, x).size() <= 1",
         false, one_framework_at_most},
    rule{"self >= 1", false, positive},
    rule{"!self.exists(c, c == 'node')", false, names_no_node},
    // JobSet's own. "namespace" is a reserved word of CEL: Kubernetes 1.30 knows the field only by its escaped name,
    // which all versions know, and JobSet's definition spells it plainly.
    rule{"!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' && "
         "self.replicatedJobs.exists(x, has(x.dependsOn)))",
         false, one_start_order_at_most},
    rule{"self.templates.all(t, !has(t.metadata.__namespace__) || size(t.metadata.__namespace__) == 0)", false,
         claims_without_namespace,
         "self.templates.all(t, !has(t.metadata.namespace) || size(t.metadata.namespace) == 0)"},
};

}  // namespace

std::span<const rule> known_rules() { return rules; }

const rule* find_rule(std::string_view text) {
    const auto found = std::ranges::find_if(
        rules, [&](const rule& each) { return text == each.text || (!each.also.empty() && text == each.also); });
    return found == rules.end() ? nullptr : &*found;
}

}  // namespace cotrain::api::schema
