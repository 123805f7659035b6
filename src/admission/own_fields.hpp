// Fields of a TrainJob that the Go types of Kubeflow Trainer v2.3.0 do not have. A client with these types that reads a
// TrainJob and writes it back drops them, as Kueue does when it admits a job: the mutating webhook brings them back.
// Why these rules: docs/decisions/0009-fields-of-our-own.md.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admission/json_patch.hpp"
#include "base/error.hpp"
#include "doc/arena.hpp"
#include "doc/tree.hpp"

namespace cotrain::admission {

struct own_field {
    std::span<const std::string_view> path;  // from the document's root, through objects only
    std::string_view copy;                   // the annotation that holds it as JSON, members sorted
};

// All of them. A test compares the list with the schema of TrainJob and the fields of v2.3.0.
[[nodiscard]] std::span<const own_field> own_fields();

// A longer copy is an empty text: it still shows that there was a field, but a new TrainJob gets none from it.
inline constexpr std::size_t field_copy_bytes_max = 64UL * 1024;
// The API server refuses more, names and values of all annotations together.
inline constexpr std::size_t annotations_bytes_max = 256UL * 1024;

// Whether the client that wrote this document knows our fields: one that does not has dropped spec.fieldsKept, too.
[[nodiscard]] bool has_fields_kept(doc::ref document);

// Brings back what the client dropped, or another webhook after ours (reinvocationPolicy: IfNeeded): what a copy of
// this request says, which every copy on create is, or what `before` has. Removing a field while spec.fieldsKept stays,
// or its copy with it, is the client's wish. An error where a copy of a new TrainJob is no JSON.
[[nodiscard]] base::result<> restore_own_fields(doc::arena& memory, json_patch& out, doc::ref before,
                                                std::span<const own_field> fields, std::vector<std::string>& warnings);

// Makes the copies what the fields are, and sets spec.fieldsKept where there are fields. Nothing changes where there
// are no fields and no copies.
void copy_own_fields(doc::arena& memory, json_patch& out, std::span<const own_field> fields);

}  // namespace cotrain::admission
