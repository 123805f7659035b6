// Reads messages by tables of their fields.
#include "sim/protobuf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/encoding.hpp"
#include "doc/edit.hpp"

namespace cotrain::sim {
namespace {

enum class shape : std::uint8_t { text, number, flag, message, texts, messages, text_map, bytes_map };

struct message_type;
struct field {
    std::uint64_t number;
    const char* name;
    shape is;
    const message_type* of = nullptr;
};
struct message_type {
    std::span<const field> fields;
};

constexpr std::array owner_fields{field{1, "kind", shape::text},       field{3, "name", shape::text},
                                  field{4, "uid", shape::text},        field{5, "apiVersion", shape::text},
                                  field{6, "controller", shape::flag}, field{7, "blockOwnerDeletion", shape::flag}};
constexpr message_type owner{owner_fields};
constexpr std::array metadata_fields{field{1, "name", shape::text},
                                     field{2, "generateName", shape::text},
                                     field{3, "namespace", shape::text},
                                     field{5, "uid", shape::text},
                                     field{6, "resourceVersion", shape::text},
                                     field{11, "labels", shape::text_map},
                                     field{12, "annotations", shape::text_map},
                                     field{13, "ownerReferences", shape::messages, &owner},
                                     field{14, "finalizers", shape::texts}};
constexpr message_type metadata{metadata_fields};
constexpr field head{1, "metadata", shape::message, &metadata};

constexpr std::array config_map_fields{head, field{2, "data", shape::text_map},
                                       field{3, "binaryData", shape::bytes_map}, field{4, "immutable", shape::flag}};
constexpr std::array secret_fields{head, field{2, "data", shape::bytes_map}, field{3, "type", shape::text},
                                   field{4, "stringData", shape::text_map}, field{5, "immutable", shape::flag}};
constexpr std::array name_only_fields{field{1, "name", shape::text}};
constexpr message_type name_only{name_only_fields};
constexpr std::array account_fields{head, field{3, "imagePullSecrets", shape::messages, &name_only},
                                    field{4, "automountServiceAccountToken", shape::flag}};
constexpr std::array priority_fields{head, field{2, "value", shape::number}, field{3, "globalDefault", shape::flag},
                                     field{4, "description", shape::text}, field{5, "preemptionPolicy", shape::text}};
constexpr std::array head_only_fields{head};

constexpr std::array resource_fields{field{1, "namespace", shape::text}, field{2, "verb", shape::text},
                                     field{3, "group", shape::text},     field{4, "version", shape::text},
                                     field{5, "resource", shape::text},  field{6, "subresource", shape::text},
                                     field{7, "name", shape::text}};
constexpr message_type resource{resource_fields};
constexpr std::array path_fields{field{1, "path", shape::text}, field{2, "verb", shape::text}};
constexpr message_type path{path_fields};
constexpr std::array access_spec_fields{field{1, "resourceAttributes", shape::message, &resource},
                                        field{2, "nonResourceAttributes", shape::message, &path},
                                        field{3, "user", shape::text}, field{4, "groups", shape::texts}};
constexpr message_type access_spec{access_spec_fields};
constexpr std::array access_fields{head, field{2, "spec", shape::message, &access_spec}};
constexpr std::array rules_spec_fields{field{1, "namespace", shape::text}};
constexpr message_type rules_spec{rules_spec_fields};
constexpr std::array rules_fields{head, field{2, "spec", shape::message, &rules_spec}};
constexpr std::array token_spec_fields{field{1, "token", shape::text}, field{2, "audiences", shape::texts}};
constexpr message_type token_spec{token_spec_fields};
constexpr std::array token_fields{head, field{2, "spec", shape::message, &token_spec}};

struct known_kind {
    std::string_view name;
    message_type type;
};
const std::array kinds_known{
    known_kind{"ConfigMap", {config_map_fields}},
    known_kind{"Secret", {secret_fields}},
    known_kind{"Namespace", {head_only_fields}},
    known_kind{"ServiceAccount", {account_fields}},
    known_kind{"PriorityClass", {priority_fields}},
    known_kind{"SelfSubjectReview", {head_only_fields}},
    known_kind{"SelfSubjectAccessReview", {access_fields}},
    known_kind{"SubjectAccessReview", {access_fields}},
    known_kind{"LocalSubjectAccessReview", {access_fields}},
    known_kind{"SelfSubjectRulesReview", {rules_fields}},
    known_kind{"TokenReview", {token_fields}},
};

// A field on the wire: a number, or bytes.
struct wire_field {
    std::uint64_t number = 0;
    std::uint64_t value = 0;
    std::string_view bytes{};
};

class wire_reader {
   public:
    explicit wire_reader(std::string_view text) : left_(text) {}

    [[nodiscard]] bool at_end() const { return left_.empty(); }
    std::optional<wire_field> next() {
        const auto key = varint();
        if (!key) return std::nullopt;
        wire_field out{.number = *key >> 3U};
        switch (*key & 7U) {
            case 0: {
                const auto value = varint();
                if (!value) return std::nullopt;
                out.value = *value;
                return out;
            }
            case 1: return skip(8) ? std::optional{out} : std::nullopt;
            case 2: {
                const auto size = varint();
                if (!size || *size > left_.size()) return std::nullopt;
                out.bytes = left_.substr(0, *size);
                left_.remove_prefix(*size);
                return out;
            }
            case 5: return skip(4) ? std::optional{out} : std::nullopt;
            default: return std::nullopt;
        }
    }

   private:
    bool skip(std::size_t bytes) {
        if (left_.size() < bytes) return false;
        left_.remove_prefix(bytes);
        return true;
    }
    std::optional<std::uint64_t> varint() {
        std::uint64_t out = 0;
        for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(left_.front());
            left_.remove_prefix(1);
            out |= std::uint64_t{byte & 0x7fU} << shift;
            if ((byte & 0x80U) == 0) return out;
        }
        return std::nullopt;
    }

    std::string_view left_;
};

bool read_message(doc::editor into, const message_type& type, std::string_view bytes, unsigned depth);

bool read_field(doc::editor into, const field& of, const wire_field& from, unsigned depth) {
    switch (of.is) {
        case shape::text: into.set(of.name, from.bytes); return true;
        case shape::number: into.set(of.name, static_cast<std::int64_t>(from.value)); return true;
        case shape::flag: into.set(of.name, from.value != 0); return true;
        case shape::texts: into.ensure_array(of.name).append(from.bytes); return true;
        case shape::message: return read_message(into.ensure_object(of.name), *of.of, from.bytes, depth + 1);
        case shape::messages:
            return read_message(into.ensure_array(of.name).append_object(), *of.of, from.bytes, depth + 1);
        case shape::text_map:
        case shape::bytes_map: break;
    }
    // A map's entry is a message of a key and a value.
    wire_reader entry(from.bytes);
    std::string_view key;
    std::string_view value;
    while (!entry.at_end()) {
        const auto part = entry.next();
        if (!part) return false;
        (part->number == 1 ? key : value) = part->bytes;
    }
    const std::string text = of.is == shape::bytes_map ? base::encode_base64(value) : std::string{value};
    into.ensure_object(of.name).set(key, text);
    return true;
}

bool read_message(doc::editor into, const message_type& type, std::string_view bytes, unsigned depth) {
    if (depth > protobuf_depth_max) return false;
    wire_reader wire(bytes);
    while (!wire.at_end()) {
        const auto next = wire.next();
        if (!next) return false;
        const auto known = std::ranges::find(type.fields, next->number, &field::number);
        if (known != type.fields.end() && !read_field(into, *known, *next, depth)) return false;
    }
    return true;
}

}  // namespace

std::expected<doc::ref, std::string> read_protobuf(doc::arena& memory, std::string_view body) {
    // runtime.Unknown behind four bytes: 1 is the kind (1 apiVersion, 2 kind), 2 the object.
    constexpr std::string_view magic{"k8s\0", 4};
    if (!body.starts_with(magic)) return std::unexpected("the body does not begin as Kubernetes' protobuf does");
    const std::unexpected broken(std::string{"the body is no protobuf"});
    std::string_view type;
    std::string_view raw;
    for (wire_reader outer(body.substr(magic.size())); !outer.at_end();) {
        const auto next = outer.next();
        if (!next) return broken;
        if (next->number == 1) type = next->bytes;
        if (next->number == 2) raw = next->bytes;
    }
    std::string_view version;
    std::string_view name;
    for (wire_reader inner(type); !inner.at_end();) {
        const auto next = inner.next();
        if (!next) return broken;
        (next->number == 1 ? version : name) = next->bytes;
    }
    const auto known = std::ranges::find(kinds_known, name, &known_kind::name);
    if (known == kinds_known.end())
        return std::unexpected(
            fmt::format("protobuf of a {} is not read by this server; JSON is: kubectl create ... "
                        "--dry-run=client -o yaml | kubectl apply -f -",
                        name));
    doc::editor out = doc::editor::object(memory);
    out.set("apiVersion", version).set("kind", name);
    if (!read_message(out, known->type, raw, 0)) return broken;
    return out.view();
}

}  // namespace cotrain::sim
