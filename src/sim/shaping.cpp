// Prunes, defaults and judges objects.
#include "sim/shaping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "doc/json.hpp"

namespace cotrain::sim {
namespace {

namespace schema = crd;
using schema::fault;
using schema::value_type;
using schema::violation;

constexpr std::size_t label_value_characters_max = 63;
constexpr std::size_t annotations_bytes_max = 256UL * 1024;

bool is_hollow_value(doc::ref value, value_type type) {
    if (value.is_null()) return true;
    if (value.is_container()) return value.empty();
    return value.is_string() && type == value_type::string && value.text().empty();
}

// As Go writes typed objects: what is empty and not required is left out.
doc::ref tidy(doc::arena& memory, const schema::node* type, doc::ref value) {
    if (type == nullptr || !value.is_container()) return value;
    if (value.is_array()) {
        doc::editor out = doc::editor::array(memory);
        for (const doc::ref item : value.items()) out.append(tidy(memory, type->items.get(), item));
        return out;
    }
    doc::editor out = doc::editor::object(memory);
    for (const doc::member& m : value.members()) {
        const schema::property* const known = type->find(m.key());
        if (known == nullptr) {
            // A member of a map, or one that the type has not.
            if (type->values != nullptr) {
                out.set(m.key(),
                        m.value.is_null() ? doc::ref::make_string("") : tidy(memory, type->values.get(), m.value));
            } else if (type->keeps_unknown) {
                out.set(m.key(), m.value);
            }
            continue;
        }
        const doc::ref inside = known->value->keeps_unknown ? m.value : tidy(memory, known->value.get(), m.value);
        if (known->required || !is_hollow_value(inside, known->value->type)) out.set(m.key(), inside);
    }
    return out;
}

void require(std::vector<violation>& out, bool fine, std::string path, std::string detail) {
    if (!fine) out.push_back({std::move(path), fault::invalid, std::move(detail)});
}

bool is_name(std::string_view text, bool dots) {
    const auto inner = [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || (dots && c == '.');
    };
    if (text.empty() || text.size() > (dots ? 253U : 63U) || !std::ranges::all_of(text, inner)) return false;
    return text.front() != '-' && text.front() != '.' && text.back() != '-' && text.back() != '.' &&
           text.find("..") == std::string_view::npos && text.find(".-") == std::string_view::npos &&
           text.find("-.") == std::string_view::npos;
}

bool is_label_word(std::string_view text) {
    const auto edge = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
    return !text.empty() && text.size() <= label_value_characters_max && edge(text.front()) && edge(text.back()) &&
           std::ranges::all_of(text, [&](char c) { return edge(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_label_key(std::string_view key) {
    const std::size_t slash = key.find('/');
    if (slash == std::string_view::npos) return is_label_word(key);
    return is_name(key.substr(0, slash), true) && is_label_word(key.substr(slash + 1));
}

void judge_finalizers(const kind& of, doc::ref finalizers, std::vector<violation>& out) {
    static constexpr std::array plain{"kubernetes", "orphan", "foregroundDeletion"};
    for (std::size_t i = 0; i < finalizers.size(); ++i) {
        const std::string_view name = finalizers.at(i).as_string();
        const std::string path = fmt::format("metadata.finalizers[{}]", i);
        require(out, is_label_key(name), path, fmt::format("\"{}\": is no qualified name", name));
        require(out, of.custom || name.contains('/') || std::ranges::find(plain, name) != plain.end(), path,
                fmt::format("\"{}\": name is neither a standard finalizer name nor is it fully qualified", name));
    }
}

void judge_metadata(const kind& of, doc::ref metadata, std::vector<violation>& out) {
    const std::string_view name = metadata.get("name").as_string();
    require(
        out, is_name(name, of.name != "Namespace"), "metadata.name",
        fmt::format("\"{}\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
                    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
                    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                    name));
    for (const doc::member& m : metadata.get("labels").members()) {
        require(out, is_label_key(m.key()), "metadata.labels", fmt::format("\"{}\": is no qualified name", m.key()));
        const std::string_view value = m.value.as_string();
        require(
            out, value.empty() || is_label_word(value), "metadata.labels",
            fmt::format("\"{}\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' "
                        "or '.', and must start and end with an alphanumeric character",
                        value));
    }
    std::size_t bytes = 0;
    for (const doc::member& m : metadata.get("annotations").members()) {
        bytes += m.key().size() + m.value.text().size();
        std::string key{m.key()};
        std::ranges::transform(key, key.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
        require(out, is_label_key(key), "metadata.annotations", fmt::format("\"{}\": is no qualified name", m.key()));
    }
    if (bytes > annotations_bytes_max)
        out.push_back({"metadata.annotations", fault::too_long,
                       fmt::format("may not be more than {} bytes", annotations_bytes_max)});
    judge_finalizers(of, metadata.get("finalizers"), out);
    int controllers = 0;
    for (const doc::ref owner : metadata.get("ownerReferences").items()) {
        controllers += owner.get("controller").as_bool(false) ? 1 : 0;
        for (const char* member : {"apiVersion", "kind", "name", "uid"}) {
            require(out, !owner.get(member).as_string().empty(), fmt::format("metadata.ownerReferences.{}", member),
                    "\"\": must not be empty");
        }
    }
    require(out, controllers < 2, "metadata.ownerReferences", "Only one reference can have Controller set to true");
}

void find_nulls(const schema::node* type, doc::ref value, const std::string& at, std::vector<violation>& out) {
    if (type == nullptr) return;
    for (const doc::member& m : value.members()) {
        const schema::property* const known = type->find(m.key());
        const schema::node* const below = known != nullptr ? known->value.get() : type->values.get();
        if (below == nullptr || (at.empty() && m.key() == "metadata")) continue;
        const std::string path = at.empty() ? std::string{m.key()} : fmt::format("{}.{}", at, m.key());
        if (m.value.is_null() && !below->nullable && below->fallback.empty()) {
            out.push_back(
                {path, fault::type,
                 fmt::format("\"null\": {} in body must be of type {}: \"null\"", path, to_string(below->type))});
        }
        find_nulls(below, m.value, path, out);
    }
    for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
        find_nulls(type->items.get(), value.at(i), fmt::format("{}[{}]", at, i), out);
    }
}

}  // namespace

std::vector<violation> stray_nulls(const kind& of, doc::ref object) {
    std::vector<violation> out;
    if (of.custom) find_nulls(of.body.get(), object, {}, out);
    return out;
}

outcome<decoded> decode(doc::arena& memory, const kind& of, doc::ref document) {
    if (!document.is_object()) return std::unexpected(bad_request("the body is no object"));
    const doc::ref metadata = document.get("metadata");
    if (!metadata.is_unset() && !metadata.is_object()) return std::unexpected(bad_request("metadata is no object"));
    if (const doc::ref k = document.get("kind"); k && k.as_string() != of.name)
        return std::unexpected(bad_request(fmt::format("invalid kind \"{}\", expected {}", k.text(), of.name)));
    if (const doc::ref v = document.get("apiVersion"); v && v.as_string() != of.api_version())
        return std::unexpected(
            bad_request(fmt::format("invalid apiVersion \"{}\", expected {}", v.text(), of.api_version())));
    // Typed metadata could not even be read with other types in it.
    if (auto fit =
            check_mergeable(object_meta().get(), tidy(memory, object_meta().get(), metadata), duplicates::allowed);
        !fit)
        return std::unexpected(bad_request("metadata" + fit.error()));

    const schema::shaped shaped = schema::shape(memory, *of.body, document);
    decoded out{doc::editor::object(memory), shaped.unknown_fields};
    out.object.set("apiVersion", of.api_version()).set("kind", of.name);
    out.object.set("metadata",
                   doc::editor::of(memory, tidy(memory, object_meta().get(),
                                                metadata.is_object() ? metadata : doc::ref::empty_object())));
    const doc::ref body = of.custom ? shaped.document : tidy(memory, of.body.get(), shaped.document);
    for (const doc::member& m : body.members()) {
        if (m.key() != "apiVersion" && m.key() != "kind" && m.key() != "metadata") out.object.set(m.key(), m.value);
    }
    if (of.fill != nullptr) of.fill(memory, out.object);
    return out;
}

std::vector<violation> judge(const kind& of, doc::ref object, doc::ref live) {
    std::vector<violation> out;
    judge_metadata(of, object.get("metadata"), out);
    std::vector<violation> body = schema::check(*of.body, object, live);
    out.insert(out.end(), std::make_move_iterator(body.begin()), std::make_move_iterator(body.end()));
    if (!live && of.check != nullptr) of.check(object, out);
    if (live && of.refuse != nullptr) {
        if (const std::string refused = of.refuse(live, object); !refused.empty()) {
            const std::size_t colon = refused.find(": ");
            out.push_back({refused.substr(0, colon), fault::invalid, refused.substr(colon + 2)});
        }
    }
    return out;
}

record make_record(doc::ref object) {
    const doc::ref metadata = object.get("metadata");
    record out;
    out.ns = metadata.get("namespace").as_string();
    out.name = metadata.get("name").as_string();
    out.uid = metadata.get("uid").as_string();
    out.deleting = metadata.contains("deletionTimestamp");
    for (const doc::member& m : metadata.get("labels").members()) out.labels.emplace_back(m.key(), m.value.as_string());
    for (const doc::ref owner : metadata.get("ownerReferences").items()) {
        out.owners.emplace_back(owner.get("uid").as_string(), owner.get("blockOwnerDeletion").as_bool(false));
    }
    doc::append_json(out.json, object);
    return out;
}

}  // namespace cotrain::sim
