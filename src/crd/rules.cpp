// What each CEL rule, regular expression and format of the schemas means; expressions in linear time.
#include "crd/rules.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

namespace cotrain::crd {

namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower_alnum(char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); }
constexpr bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_alnum(char c) { return is_digit(c) || is_alpha(c); }

// Removes what `accepted` takes from the front of `text` and returns how much that was.
template <class P>
std::size_t take(std::string_view& text, P accepted) {
    const auto end = std::ranges::find_if_not(text, accepted);
    const auto count = static_cast<std::size_t>(end - text.begin());
    text.remove_prefix(count);
    return count;
}

bool take_one(std::string_view& text, std::string_view any_of) {
    if (text.empty() || !any_of.contains(text.front())) return false;
    text.remove_prefix(1);
    return true;
}

bool take_decimal(std::string_view& text) {
    take_one(text, "+-");
    const std::size_t whole = take(text, is_digit);
    const std::size_t fraction = take_one(text, ".") ? take(text, is_digit) : 0;
    return whole + fraction > 0;
}

bool is_quantity(std::string_view text) {
    if (!take_decimal(text)) return false;
    if (text.empty()) return true;
    if (text.size() == 2 && text[1] == 'i') return std::string_view{"KMGTPE"}.contains(text[0]);
    if (text.size() == 1) return std::string_view{"numkMGTPE"}.contains(text[0]);
    return take_one(text, "eE") && take_decimal(text) && text.empty();
}

bool is_dns_subdomain(std::string_view text) {
    while (true) {
        const std::size_t dot = text.find('.');
        const std::string_view label = text.substr(0, dot);
        const auto inner = [](char c) { return is_lower_alnum(c) || c == '-'; };
        if (label.empty() || label.front() == '-' || label.back() == '-' || !std::ranges::all_of(label, inner))
            return false;
        if (dot == std::string_view::npos) return true;
        text.remove_prefix(dot + 1);
    }
}

bool is_condition_type(std::string_view text) {
    if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
        if (!is_dns_subdomain(text.substr(0, slash))) return false;
        text.remove_prefix(slash + 1);
    }
    const auto inner = [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; };
    return !text.empty() && is_alnum(text.front()) && is_alnum(text.back()) && std::ranges::all_of(text, inner);
}

bool is_condition_reason(std::string_view text) {
    const auto inner = [](char c) { return is_alnum(c) || c == '_' || c == ',' || c == ':'; };
    return !text.empty() && is_alpha(text.front()) && (is_alnum(text.back()) || text.back() == '_') &&
           std::ranges::all_of(text, inner);
}

bool is_process_count(std::string_view text) {
    if (text == "auto" || text == "cpu" || text == "gpu") return true;
    constexpr std::size_t digits_max = 10;
    return !text.empty() && text.size() <= digits_max && text.front() != '0' && std::ranges::all_of(text, is_digit);
}

constexpr std::array patterns{
    text_pattern{quantity_pattern, is_quantity},
    text_pattern{condition_type_pattern, is_condition_type},
    text_pattern{condition_reason_pattern, is_condition_reason},
    text_pattern{process_count_pattern, is_process_count},
};

// Exactly `digits` of them as a number.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
    if (text.size() < digits || !std::ranges::all_of(text.substr(0, digits), is_digit)) return std::nullopt;
    int number = 0;
    for (const char c : text.substr(0, digits)) number = number * 10 + (c - '0');
    text.remove_prefix(digits);
    return number;
}

bool is_date(std::string_view text) {
    const auto year = take_number(text, 4);
    if (!year || !take_one(text, "-")) return false;
    const auto month = take_number(text, 2);
    if (!month || !take_one(text, "-")) return false;
    const auto day = take_number(text, 2);
    if (!day || !text.empty()) return false;
    return (std::chrono::year{*year} / *month / *day).ok();
}

bool is_zone(std::string_view text) {
    if (take_one(text, "zZ")) return text.empty();
    return take_one(text, "+-") && take_number(text, 2) && take_one(text, ":") && take_number(text, 2) && text.empty();
}

}  // namespace

std::span<const text_pattern> known_patterns() { return patterns; }

const text_pattern* find_pattern(std::string_view text) {
    const auto found = std::ranges::find(patterns, text, &text_pattern::text);
    return found == patterns.end() ? nullptr : &*found;
}

bool is_date_time(std::string_view text) {
    const std::size_t split = text.find_first_of("tT");
    if (split == std::string_view::npos || !is_date(text.substr(0, split))) return false;
    std::string_view time = text.substr(split + 1);
    const auto hour = take_number(time, 2);
    if (!hour || *hour > 23 || !take_one(time, ":")) return false;
    const auto minute = take_number(time, 2);
    if (!minute || *minute > 59 || !take_one(time, ":")) return false;
    const auto second = take_number(time, 2);
    if (!second || *second > 59) return false;
    if (take_one(time, ".,") && take(time, is_digit) == 0) return false;
    return is_zone(time);
}

std::size_t count_characters(std::string_view text) {
    const auto starts = [](char c) { return (static_cast<std::uint8_t>(c) & 0xC0U) != 0x80U; };
    return static_cast<std::size_t>(std::ranges::count_if(text, starts));
}

namespace {

constexpr std::size_t job_name_characters_max = 63;

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

bool unchanged(const node& schema, doc::ref self, doc::ref old_self) {
    return same(&schema, self, old_self, set_order::ignored);
}

bool name_is_dns_label(const node& /*schema*/, doc::ref self, doc::ref /*old_self*/) {
    const std::string_view name = self.get({"metadata", "name"}).as_string();
    const auto inner = [](char c) { return is_lower(c) || is_digit(c) || c == '-'; };
    return !name.empty() && is_lower(name.front()) && name.back() != '-' && std::ranges::all_of(name, inner);
}

bool name_fits(const node& /*schema*/, doc::ref self, doc::ref /*old_self*/) {
    return count_characters(self.get({"metadata", "name"}).as_string()) <= job_name_characters_max;
}

bool is_storage_uri(const node& /*schema*/, doc::ref self, doc::ref /*old_self*/) {
    const std::string_view uri = self.as_string();
    if (uri.empty()) return self.is_string();
    const auto in_scheme = [](char c) { return is_alpha(c) || is_digit(c) || c == '+' || c == '.' || c == '-'; };
    const std::size_t scheme = static_cast<std::size_t>(std::ranges::find_if_not(uri, in_scheme) - uri.begin());
    if (scheme == 0 || !is_alpha(uri.front()) || !uri.substr(scheme).starts_with("://")) return false;
    const std::string_view rest = uri.substr(scheme + 3);
    return !rest.empty() && !rest.contains('\n');  // "." matches everything but a line's end
}

bool is_known_manager(const node& /*schema*/, doc::ref self, doc::ref /*old_self*/) {
    return self.as_string() == "trainer.kubeflow.org/trainjob-controller" ||
           self.as_string() == "kueue.x-k8s.io/multikueue";
}

bool has_update_time(const node& /*schema*/, doc::ref self, doc::ref /*old_self*/) {
    return self.contains("lastUpdatedTime");
}

bool one_framework_at_most(const node& /*schema*/, doc::ref self, doc::ref /*old_self*/) {
    static constexpr std::array<std::string_view, 5> frameworks{"torch", "mpi", "jax", "xgboost", "flux"};
    return std::ranges::count_if(frameworks, [&](std::string_view f) { return self.contains(f); }) <= 1;
}

bool positive(const node& /*schema*/, doc::ref self, doc::ref /*old_self*/) { return self.as_int(0) >= 1; }

bool range_is_in_order(const node& /*schema*/, doc::ref self, doc::ref /*old_self*/) {
    const auto min = self.get("minNodes").as_int();
    const auto max = self.get("maxNodes").as_int();
    return min && max && *min <= *max;
}

bool one_level_of_scheduling(const node& /*schema*/, doc::ref self, doc::ref /*old_self*/) {
    return !self.contains("replicatedJobs") ||
           !(self.contains("schedulingPolicy") || self.contains("schedulingConstraints") ||
             self.contains("disruptionMode"));
}

bool one_gang_scheduler(const node& /*schema*/, doc::ref self, doc::ref /*old_self*/) {
    return !(self.contains("scheduling") && self.contains("podGroupPolicy"));
}

bool names_no_node(const node& /*schema*/, doc::ref self, doc::ref /*old_self*/) {
    return std::ranges::none_of(self.items(), [](doc::ref name) { return name.as_string() == "node"; });
}

bool one_start_order_at_most(const node& /*schema*/, doc::ref self, doc::ref /*old_self*/) {
    if (self.get({"startupPolicy", "startupPolicyOrder"}).as_string() != "InOrder") return true;
    const doc::ref jobs = self.get("replicatedJobs");
    // CEL cannot evaluate the rule without the list.
    return jobs && std::ranges::none_of(jobs.items(), [](doc::ref job) { return job.contains("dependsOn"); });
}

bool claims_without_namespace(const node& /*schema*/, doc::ref self, doc::ref /*old_self*/) {
    const doc::ref claims = self.get("templates");
    // Nor without the list, nor for a claim without metadata.
    return claims && std::ranges::all_of(claims.items(), [](doc::ref claim) {
               const doc::ref metadata = claim.get("metadata");
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
    rule{"self.minNodes <= self.maxNodes", false, range_is_in_order},
    rule{"!self.exists(c, c == 'node')", false, names_no_node},
    rule{"!has(self.replicatedJobs) || !(has(self.schedulingPolicy) || has(self.schedulingConstraints) || "
         "has(self.disruptionMode))",
         false, one_level_of_scheduling},
    rule{"!(has(self.scheduling) && has(self.podGroupPolicy))", false, one_gang_scheduler},
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

}  // namespace cotrain::crd
