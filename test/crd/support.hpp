// Documents and verdicts in one line each, for the tests of schemas.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "crd/check.hpp"
#include "crd/crd.hpp"
#include "crd/node.hpp"
#include "doc/json.hpp"

namespace cotrain::crd {

inline doc::ref json(doc::arena& memory, std::string_view text) {
    auto document = doc::parse_json_copy(memory, text);
    if (!document) throw std::invalid_argument(document.error().message);
    return *document;
}

inline node schema_from(std::string_view text) {
    doc::arena memory;
    auto read = read_schema(json(memory, text));
    if (!read) throw std::invalid_argument(read.error().message);
    return std::move(*read);
}

inline std::vector<std::string> paths_of(const std::vector<violation>& violations) {
    std::vector<std::string> paths;
    for (const violation& v : violations) paths.push_back(v.path.empty() ? "<nil>" : v.path);
    return paths;
}

// Paths of what is wrong with a document, after it has been shaped.
inline std::vector<std::string> faults_of(const node& schema, std::string_view text, std::string_view old = {}) {
    doc::arena memory;
    const doc::ref before = old.empty() ? doc::ref{} : shape(memory, schema, json(memory, old)).document;
    return paths_of(check(schema, shape(memory, schema, json(memory, text)).document, before));
}

using paths = std::vector<std::string>;

// A TrainJob whose spec has these members besides its runtimeRef, and a runtime.
inline std::string train_job(std::string_view members, std::string_view name = "job") {
    return R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":")" +
           std::string{name} + R"("},"spec":{"runtimeRef":{"name":"rt"})" + (members.empty() ? "" : ",") +
           std::string{members} + "}}";
}
inline std::string runtime(std::string_view spec) {
    return R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainingRuntime","metadata":{"name":"rt"},"spec":)" +
           std::string{spec} + "}";
}
inline const node& jobs() { return *schema_of("TrainJob"); }
inline const node& runtimes() { return *schema_of("TrainingRuntime"); }

}  // namespace cotrain::crd
