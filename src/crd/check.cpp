// Judges documents by their schema: all of it, their sizes alone, or their types alone.
#include "crd/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "crd/rules.hpp"
#include "doc/json.hpp"

namespace cotrain::crd {

std::string place::path() const {
    if (above_ == nullptr) return {};
    std::string text = above_->path();
    switch (step_) {
        case step::root: break;
        case step::member:
            if (!text.empty()) text += '.';
            text += name_;
            break;
        case step::item: fmt::format_to(std::back_inserter(text), "[{}]", index_); break;
    }
    return text;
}

namespace {

std::string shown(doc::ref value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return "a list";
    return base::one_line(doc::to_json(value), shown_value_bytes_max);
}

// Whether faults of this kind keep rules from being looked at.
bool blocks_rules(fault f) { return f <= fault::too_many; }

// Integers may be written with a fraction of zero, within what doubles tell apart.
bool is_integer(doc::ref value) {
    if (value.text().find_first_of(".eE") == std::string_view::npos) return value.as_int().has_value();
    constexpr double exact_max = 9007199254740991.0;
    const auto number = value.as_double();
    return number && std::abs(*number) <= exact_max && std::trunc(*number) == *number;
}

bool is_of_type(const node& schema, doc::ref value) {
    switch (schema.type) {
        case value_type::any: return true;
        case value_type::object: return value.is_object();
        case value_type::array: return value.is_array();
        case value_type::string:
            // A list passes where there is a format: kube-openapi takes it for bytes.
            return value.is_string() || (value.is_array() && schema.format == value_format::date_time);
        case value_type::boolean: return value.is_bool();
        case value_type::number: return value.is_number();
        case value_type::integer: return value.is_number() && is_integer(value);
        case value_type::int_or_string: return value.is_string() || (value.is_number() && is_integer(value));
    }
    return false;
}

// Walks a document beside its schema, and beside the document before an update where its parts can be told.
class judge {
   public:
    std::vector<violation> verdict(const node& schema, doc::ref document, doc::ref old) {
        visit_types(schema, document, old, place{});
        std::vector<violation> before;
        std::swap(before, violations_);
        visit_lists(schema, document, place{});
        if (!violations_.empty() && old) {
            std::vector<violation> now = std::exchange(violations_, {});
            visit_lists(schema, old, place{});
            // Lists that were ambiguous already may stay so, and others with them.
            violations_ = violations_.empty() ? std::move(now) : std::vector<violation>{};
        }
        const bool blocked = std::ranges::any_of(before, [](const violation& v) { return blocks_rules(v.kind); });
        before.insert(before.end(), std::make_move_iterator(violations_.begin()),
                      std::make_move_iterator(violations_.end()));
        violations_ = std::move(before);
        if (!blocked) visit_rules(schema, document, old, place{});
        if (violations_.size() > violations_max) violations_.resize(violations_max);
        return std::move(violations_);
    }

   private:
    [[nodiscard]] bool full() const { return violations_.size() >= violations_max; }
    void report(const place& at, fault kind, std::string detail) {
        if (!full()) violations_.push_back({at.path(), kind, std::move(detail)});
    }
    // Takes back what was found since `mark` in a value that an update leaves as it was.
    void forgive(std::size_t mark, const node& schema, doc::ref value, doc::ref old) {
        if (violations_.size() > mark && old && same(&schema, value, old, set_order::counts)) violations_.resize(mark);
    }

    void visit_types(const node& schema, doc::ref value, doc::ref old, const place& at) {
        if (full()) return;
        const std::size_t mark = violations_.size();
        if (value.is_null() && schema.nullable) return;
        if (!is_of_type(schema, value)) {
            report(at, fault::type, fmt::format("{}: must be of type {}", shown(value), to_string(schema.type)));
        } else {
            judge_value(schema, value, at);
            descend(schema, value, old, at,
                    [this](const node& s, doc::ref v, doc::ref o, const place& p) { visit_types(s, v, o, p); });
        }
        forgive(mark, schema, value, old);
    }

    void visit_rules(const node& schema, doc::ref value, doc::ref old, const place& at) {
        if (full() || value.is_null()) return;
        const std::size_t mark = violations_.size();
        for (const validation& v : schema.validations) {
            if (v.check->transition && !old) continue;
            if (!v.check->holds(schema, value, old)) report(at, fault::rule, v.message);
        }
        descend(schema, value, old, at,
                [this](const node& s, doc::ref v, doc::ref o, const place& p) { visit_rules(s, v, o, p); });
        forgive(mark, schema, value, old);
    }

    void visit_lists(const node& schema, doc::ref value, const place& at) {
        if (full()) return;
        if (value.is_array() && (schema.list == list_type::map || schema.list == list_type::set)) {
            find_duplicates(schema, value, at);
        }
        descend(schema, value, {}, at,
                [this](const node& s, doc::ref v, doc::ref, const place& p) { visit_lists(s, v, p); });
    }

    // Calls `visit(schema, value, old, place)` for everything directly below.
    template <class V>
    void descend(const node& schema, doc::ref value, doc::ref old, const place& at, const V& visit) {
        if (value.is_object()) {
            for (const doc::member& m : value.members()) {
                const property* const known = schema.find(m.key());
                const node* const below = known != nullptr ? known->value.get() : schema.values.get();
                if (below != nullptr) visit(*below, m.value, old.get(m.key()), at.member(m.key()));
            }
        } else if (value.is_array() && schema.items) {
            const bool keyed = schema.list == list_type::map && old.is_array();
            const keyed_items before = keyed ? index_items(schema, old) : keyed_items{};
            for (std::size_t i = 0; i < value.size(); ++i) {
                const auto match = keyed ? before.find(key_of(schema, value.at(i))) : before.end();
                visit(*schema.items, value.at(i), match == before.end() ? doc::ref{} : match->second, at.item(i));
            }
        }
    }

    void judge_value(const node& schema, doc::ref value, const place& at) {
        if (value.is_string()) judge_text(schema, value, at);
        if (value.is_number()) judge_number(schema, value, at);
        if (value.is_array()) judge_count(schema, value, at, "items");
        if (value.is_object()) {
            judge_count(schema, value, at, "members");
            for (const property& p : schema.properties) {
                if (p.required && !value.contains(p.name)) report(at.member(p.name), fault::required, {});
            }
        }
    }

    void judge_text(const node& schema, doc::ref value, const place& at) {
        const auto length = static_cast<std::int64_t>(count_characters(value.text()));
        if (schema.size.max && length > *schema.size.max) {
            report(at, fault::too_long, fmt::format("may not be more than {} bytes", *schema.size.max));
        } else if (schema.size.min && length < *schema.size.min) {
            report(at, fault::invalid,
                   fmt::format("{}: must be at least {} characters long", shown(value), *schema.size.min));
        } else if (schema.pattern != nullptr && !schema.pattern->matches(value.text())) {
            report(at, fault::invalid, fmt::format("{}: must match '{}'", shown(value), schema.pattern->text));
        } else if (schema.format == value_format::date_time && !is_date_time(value.text())) {
            report(at, fault::type, fmt::format("{}: must be a time like 2006-01-02T15:04:05Z", shown(value)));
        }
        if (!schema.one_of.empty() && !std::ranges::contains(schema.one_of, value.text())) {
            std::string options;
            for (const std::string& option : schema.one_of)
                fmt::format_to(std::back_inserter(options), ", \"{}\"", option);
            report(at, fault::unsupported, fmt::format("{}: supported values: {}", shown(value), options.substr(2)));
        }
    }

    void judge_number(const node& schema, doc::ref value, const place& at) {
        const double number = value.as_double().value_or(std::numeric_limits<double>::infinity());
        const bool small = schema.format == value_format::int32;
        if (small &&
            (number < std::numeric_limits<std::int32_t>::min() || number > std::numeric_limits<std::int32_t>::max())) {
            report(at, fault::invalid, fmt::format("{}: must fit into 32 bits", shown(value)));
        } else if (schema.number.min && number < static_cast<double>(*schema.number.min)) {
            report(at, fault::invalid,
                   fmt::format("{}: must be greater than or equal to {}", shown(value), *schema.number.min));
        } else if (schema.number.max && number > static_cast<double>(*schema.number.max)) {
            report(at, fault::invalid,
                   fmt::format("{}: must be less than or equal to {}", shown(value), *schema.number.max));
        }
    }

    void judge_count(const node& schema, doc::ref value, const place& at, std::string_view what) {
        const auto count = static_cast<std::int64_t>(value.size());
        if (schema.size.max && count > *schema.size.max) {
            report(at, fault::too_many, fmt::format("{}: must have at most {} {}", count, *schema.size.max, what));
        } else if (schema.size.min && count < *schema.size.min) {
            report(at, fault::invalid, fmt::format("{}: must have at least {} {}", count, *schema.size.min, what));
        }
    }

    // Each value that occurs more than once is reported where it occurs the second time.
    void find_duplicates(const node& schema, doc::ref list, const place& at) {
        const auto is_keyless = [](doc::ref item) { return !item.is_object() && !item.is_null(); };
        // Their type is wrong already, and keys are not looked at.
        if (schema.list == list_type::map && std::ranges::any_of(list.items(), is_keyless)) return;
        std::unordered_map<std::string, unsigned> seen;
        seen.reserve(list.size());
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (++seen[key_of(schema, list.at(i))] != 2) continue;
            report(at.item(i), fault::duplicate, shown_key(schema, list.at(i)));
        }
    }

    static std::string shown_key(const node& schema, doc::ref item) {
        if (schema.list != list_type::map) return shown(item);
        std::string text = "{";
        for (const std::string& key : schema.keys) {
            if (!item.contains(key)) continue;
            if (text.size() > 1) text += ',';
            fmt::format_to(std::back_inserter(text), "\"{}\":{}", key, shown(item.get(key)));
        }
        return text + "}";
    }

    std::vector<violation> violations_;
};

}  // namespace

std::vector<violation> check(const node& schema, doc::ref document, doc::ref old) {
    return judge{}.verdict(schema, document, old);
}

std::string_view to_string(fault f) {
    switch (f) {
        case fault::required: return "Required value";
        case fault::unsupported: return "Unsupported value";
        case fault::too_long: return "Too long";
        case fault::too_many: return "Too many";
        case fault::duplicate: return "Duplicate value";
        case fault::type:
        case fault::invalid:
        case fault::rule: return "Invalid value";
    }
    return "Invalid value";
}

std::string to_string(const violation& v) {
    const std::string_view path = v.path.empty() ? std::string_view{"<nil>"} : v.path;
    if (v.detail.empty()) return fmt::format("{}: {}", path, to_string(v.kind));
    return fmt::format("{}: {}: {}", path, to_string(v.kind), v.detail);
}

namespace {

class counter {
   public:
    // Whether nothing was found.
    bool visit(const node& schema, doc::ref value, doc::ref old, const place& at) {
        if (!value.is_container()) return true;
        const auto count = static_cast<std::int64_t>(value.size());
        if (schema.size.max && count > *schema.size.max && !(old && doc::equal(value, old))) {
            found = violation{at.path(), fault::too_many,
                              fmt::format("{}: must have at most {} {}", count, *schema.size.max,
                                          value.is_array() ? "items" : "members")};
            return false;
        }
        return value.is_object() ? members(schema, value, old, at) : items(schema, value, old, at);
    }

    std::optional<violation> found;

   private:
    bool members(const node& schema, doc::ref value, doc::ref old, const place& at) {
        for (const property& p : schema.properties) {
            const doc::ref below = value.get(p.name);
            if (below.is_container() && !visit(*p.value, below, old.get(p.name), at.member(p.name))) return false;
        }
        if (!schema.values) return true;
        for (const doc::member& m : value.members()) {
            if (m.value.is_container() && !visit(*schema.values, m.value, {}, at.member(m.key()))) return false;
        }
        return true;
    }

    bool items(const node& schema, doc::ref value, doc::ref old, const place& at) {
        for (std::size_t i = 0; schema.items && i < value.size(); ++i) {
            if (!visit(*schema.items, value.at(i), old.at(i), at.item(i))) return false;
        }
        return true;
    }
};

}  // namespace

std::optional<violation> find_too_many(const node& schema, std::string_view name, doc::ref document, doc::ref old) {
    counter walk;
    const place root;
    (void)walk.visit(schema, document, old, root.member(name));
    return std::move(walk.found);
}

namespace {

// As a client with typed structs reads it.
bool reads_as(const node& schema, doc::ref value) {
    switch (schema.type) {
        case value_type::any: return true;
        case value_type::object: return value.is_object();
        case value_type::array: return value.is_array();
        case value_type::string: return value.is_string();
        case value_type::boolean: return value.is_bool();
        case value_type::number: return value.is_number();
        case value_type::integer: return value.as_int().has_value();
        case value_type::int_or_string: return value.is_string() || value.is_number();
    }
    return false;
}

class reader {
   public:
    void read(const node& schema, doc::ref value, const place& at) {
        if (value.is_unset() || found.size() >= violations_max) return;
        if (!reads_as(schema, value)) {
            report(at, value, fmt::format("must be of type {}", to_string(schema.type)));
            return;
        }
        if (value.is_object()) return read_members(schema, value, at);
        if (value.is_array()) {
            for (std::size_t i = 0; schema.items && i < value.size(); ++i) {
                read(*schema.items, value.at(i), at.item(i));
            }
            return;
        }
        read_scalar(schema, value, at);
    }

    std::vector<violation> found;

   private:
    void report(const place& at, doc::ref value, std::string_view what) {
        found.push_back({at.path(), fault::type, fmt::format("{}: {}", shown(value), what)});
    }

    void read_members(const node& schema, doc::ref value, const place& at) {
        for (const doc::member& m : value.members()) {
            const property* const known = schema.find(m.key());
            const node* const below = known != nullptr ? known->value.get() : schema.values.get();
            if (below != nullptr) read(*below, m.value, at.member(m.key()));
        }
    }

    void read_scalar(const node& schema, doc::ref value, const place& at) {
        if (schema.format == value_format::int32) {
            const std::int64_t number = value.as_int(0);
            if (number < std::numeric_limits<std::int32_t>::min() || number > std::numeric_limits<std::int32_t>::max())
                report(at, value, "must fit into 32 bits");
        } else if (schema.format == value_format::date_time && !is_date_time(value.text())) {
            report(at, value, "must be a time like 2006-01-02T15:04:05Z");
        } else if (schema.pattern != nullptr && schema.pattern->text == quantity_pattern &&
                   !schema.pattern->matches(value.text())) {
            report(at, value, "must be a quantity, such as 1, 500m or 1.5Gi");
        }
    }
};

}  // namespace

std::vector<violation> check_typed(const node& schema, doc::ref document) {
    reader walk;
    walk.read(schema, document, place{});
    return std::move(walk.found);
}

}  // namespace cotrain::crd
