// Puts findings into words.
#include "runtime/verdict.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "api/quantity.hpp"
#include "doc/json.hpp"
#include "doc/member_index.hpp"

namespace cotrain::runtime {

std::string finding::text() const {
    if (path.empty()) return detail;
    std::string out = path;
    switch (what) {
        case fault::invalid: out.append(": Invalid value: ").append(value); break;
        case fault::forbidden: out.append(": Forbidden"); break;
        case fault::required: out.append(": Required value"); break;
        case fault::unsupported: out.append(": Unsupported value: ").append(value); break;
        case fault::internal: out.append(": Internal error"); break;
    }
    if (!detail.empty()) out.append(": ").append(detail);
    return out;
}

namespace {

void cut(std::string& text, std::size_t bytes_max) {
    if (text.size() > bytes_max) text = base::one_line(text, bytes_max);
}

}  // namespace

// The same fault found twice is one.
void verdict::add(finding f) {
    if (full()) return;
    cut(f.path, finding_text_bytes_max);
    cut(f.value, finding_value_bytes_max);
    cut(f.detail, finding_text_bytes_max);
    if (std::ranges::contains(errors, f)) return;
    if (errors.size() == findings_max) f = {fault::invalid, {}, {}, std::string(more_findings)};
    errors.push_back(std::move(f));
}

void verdict::warn(std::string_view text) {
    if (warnings.size() < findings_max) warnings.push_back(base::one_line(text, finding_text_bytes_max));
}

void verdict::invalid(std::string path, doc::ref value, std::string detail) {
    if (full()) return;
    add({fault::invalid, std::move(path), doc::shown_json(value, finding_value_bytes_max), std::move(detail)});
}

void verdict::invalid(std::string path, std::string_view text_value, std::string detail) {
    invalid(std::move(path), doc::ref::make_string(text_value), std::move(detail));
}

void verdict::invalid(std::string path, std::int64_t value, std::string detail) {
    add({fault::invalid, std::move(path), std::to_string(value), std::move(detail)});
}

void verdict::forbidden(std::string path, std::string detail) {
    add({fault::forbidden, std::move(path), {}, std::move(detail)});
}

std::string verdict::message() const {
    if (errors.size() == 1) return errors.front().text();
    std::string out = "[";
    for (const auto& e : errors) {
        if (out.size() > 1) out.append(", ");
        out.append(e.text());
    }
    return out.append("]");
}

bool review::changed(std::string_view member) const {
    if (before == nullptr) return true;
    const doc::ref was = before->document.get({"spec", member});
    const doc::ref is = job.document.get({"spec", member});
    return was.is_unset() ? !is.is_unset() : !equal(was, is);
}

static bool is_nothing(doc::ref value) {
    if (value.is_unset()) return true;
    if (value.is_array()) return value.empty();
    return value.is_object() &&
           std::ranges::all_of(value.members(), [](const doc::member& m) { return is_nothing(m.value); });
}

bool means_the_same(doc::ref a, doc::ref b) {
    if (a.is_array() && b.is_array()) return std::ranges::equal(a.items(), b.items(), means_the_same);
    if (!a.is_object() || !b.is_object()) return equal(a, b) || (is_nothing(a) && is_nothing(b));
    const doc::member_index in_a(a);
    const doc::member_index in_b(b);
    const auto met = [&](const doc::member& m) { return means_the_same(m.value, in_b.get(m.key())); };
    const auto extra = [&](const doc::member& m) { return in_a.contains(m.key()) || is_nothing(m.value); };
    return std::ranges::all_of(a.members(), met) && std::ranges::all_of(b.members(), extra);
}

void refuse_reserved_env(doc::ref env, std::span<const std::string_view> reserved, verdict& out) {
    std::set<std::string_view> found;
    for (const doc::ref entry : env.items()) {
        const auto name = entry.get("name").as_string();
        if (std::ranges::contains(reserved, name)) found.insert(name);
    }
    if (found.empty()) return;
    std::string listed;
    for (const auto name : found) listed.append(listed.empty() ? "" : " ").append(name);
    out.invalid("spec.trainer.env", env, "must not have reserved envs, invalid envs configured: [" + listed + "]");
}

void refuse_negative_amounts(doc::ref resources, std::string_view path, verdict& out) {
    for (const std::string_view list : {"limits", "requests"}) {
        for (const auto& m : resources.get(list).members()) {
            if (out.full()) return;
            const auto amount = api::quantity::parse(m.value);
            if (!amount || amount->sign() >= 0) continue;
            std::string place(path);
            place.append(".").append(list).append("[").append(m.key()).append("]");
            out.invalid(std::move(place), m.value, "must be greater than or equal to 0");
        }
    }
}

}  // namespace cotrain::runtime
