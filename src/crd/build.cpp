// Builds types out of words.
#include "crd/build.hpp"

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

#include "crd/node.hpp"
#include "crd/rules.hpp"

namespace cotrain::crd {
namespace {

// A copy of `from` that `edit` has changed.
template <class E>
type_builder changed(const node& from, const E& edit) {
    node copy = from;
    edit(copy);
    return type_builder(std::move(copy));
}

std::shared_ptr<const node> share(const type_builder& type) { return std::make_shared<const node>(type.get()); }

}  // namespace

type_builder::type_builder(value_type type, value_format format) {
    node_.type = type;
    node_.format = format;
}

type_builder type_builder::size(std::optional<std::int64_t> min, std::optional<std::int64_t> max) const {
    return changed(node_, [&](node& n) { n.size = {min, max}; });
}

type_builder type_builder::at_least(std::int64_t min) const {
    return changed(node_, [&](node& n) { n.number.min = min; });
}

type_builder type_builder::between(std::int64_t min, std::int64_t max) const {
    return changed(node_, [&](node& n) { n.number = {min, max}; });
}

type_builder type_builder::one_of(std::initializer_list<std::string_view> texts) const {
    return changed(node_, [&](node& n) { n.one_of.assign(texts.begin(), texts.end()); });
}

type_builder type_builder::pattern(std::string_view regex) const {
    const text_pattern* const known = find_pattern(regex);
    if (known == nullptr) throw std::logic_error("schema: the checker does not know the pattern " + std::string{regex});
    return changed(node_, [&](node& n) { n.pattern = known; });
}

type_builder type_builder::fallback(std::string_view json) const {
    return changed(node_, [&](node& n) { n.fallback = json; });
}

type_builder type_builder::rule(std::string_view cel, std::string_view message) const {
    const crd::rule* const known = find_rule(cel);
    if (known == nullptr) throw std::logic_error("schema: the checker does not know the rule " + std::string{cel});
    return changed(node_, [&](node& n) { n.validations.push_back({known, std::string{message}}); });
}

type_builder type_builder::immutable() const { return rule("self == oldSelf", "field is immutable"); }

type_builder type_builder::atomic() const {
    return changed(node_, [](node& n) { n.list = list_type::atomic; });
}

type_builder type_builder::unique() const {
    return changed(node_, [](node& n) { n.list = list_type::set; });
}

type_builder type_builder::keyed_by(std::string_view member) const {
    return changed(node_, [&](node& n) {
        n.list = list_type::map;
        n.keys = {std::string{member}};
    });
}

type_builder type_builder::described(std::string_view text) const {
    return changed(node_, [&](node& n) { n.description = text; });
}

type_builder object(std::span<const field> fields) {
    node out;
    out.type = value_type::object;
    for (const field& f : fields) {
        out.properties.push_back(
            {std::string{f.name}, share(f.type.described(f.description)), f.need == presence::required});
    }
    return type_builder(std::move(out));
}

type_builder object(std::initializer_list<field> fields) { return object(std::span(fields.begin(), fields.size())); }

type_builder list(const type_builder& item) {
    return changed(type_builder(value_type::array).get(), [&](node& n) { n.items = share(item); });
}

type_builder map_of(const type_builder& value) {
    return changed(type_builder(value_type::object).get(), [&](node& n) { n.values = share(value); });
}

type_builder text() { return {value_type::string}; }
type_builder time() { return {value_type::string, value_format::date_time}; }
type_builder flag() { return {value_type::boolean}; }
type_builder int32() { return {value_type::integer, value_format::int32}; }
type_builder int64() { return {value_type::integer, value_format::int64}; }
type_builder integer() { return {value_type::integer}; }

type_builder process_count() {
    constexpr std::int64_t min = std::numeric_limits<std::int32_t>::min();
    constexpr std::int64_t max = std::numeric_limits<std::int32_t>::max();
    return type_builder(value_type::int_or_string).between(min, max).pattern(process_count_pattern);
}

type_builder foreign(std::string_view name) {
    const shared_node type = kubernetes_types().find(name);
    if (!type) throw std::logic_error("schema: kubernetes.json.inc has no type " + std::string{name});
    return type_builder(*type);
}

}  // namespace cotrain::crd
