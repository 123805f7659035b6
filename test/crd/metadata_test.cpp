// Metadata that the API server takes and refuses.
#include "crd/check.hpp"

#include <gtest/gtest.h>

#include <string>

#include "doc/arena.hpp"
#include "doc/yaml.hpp"

namespace cotrain::crd {
namespace {

// Paths of the faults, a space behind each.
std::string faults_of(std::string_view metadata) {
    doc::arena memory;
    const auto document = doc::parse_yaml(memory, metadata);
    std::string paths;
    for (const violation& v : check_metadata(document.value())) paths.append(v.path).append(" ");
    return paths;
}

TEST(metadata, is_taken) {
    for (const char* good :
         {"{name: a}", "{name: a.b-c}", "{name: a, namespace: b, generateName: x-}",
          "{name: a, labels: {a: '', example.com/A_b: c.D, b: ~}}", "{name: a, annotations: {A/b: 'a b'}}",
          "{name: a, finalizers: [a, a.b/c, orphan]}",
          "{name: a, ownerReferences: [{apiVersion: a/v1, kind: K, name: A b, uid: u, controller: true}]}"}) {
        EXPECT_EQ(faults_of(good), "") << good;
    }
}

TEST(metadata, is_refused_with_its_path) {
    const auto owner = [](std::string_view rest) { return "{name: a, ownerReferences: [" + std::string(rest) + "]}"; };
    const std::string labels = "metadata.labels ";
    for (const auto& [bad, paths] : std::initializer_list<std::pair<std::string, std::string>>{
             {"{}", "metadata.name "},
             {"{name: A}", "metadata.name "},
             {"{name: a, namespace: a.b}", "metadata.namespace "},
             {"{name: a, generateName: A-}", "metadata.generateName "},
             {"{name: a, generateName: '-'}", "metadata.generateName "},
             {"{name: a, labels: {a b: c d}}", labels + labels},
             {"{name: a, labels: {a/b/c: d}}", labels},
             {"{name: a, labels: {A.b/c: d}}", labels},
             {"{name: a, labels: {a: " + std::string(64, 'x') + "}}", labels},
             {"{name: a, annotations: {a b: c}}", "metadata.annotations "},
             {"{name: a, annotations: {a: " + std::string(256UL * 1024, 'x') + "}}", "metadata.annotations "},
             {"{name: a, finalizers: [a b]}", "metadata.finalizers "},
             {"{name: a, finalizers: [orphan, foregroundDeletion]}", "metadata.finalizers "},
             {owner("{apiVersion: a/b/c, kind: K, name: x, uid: u}"), "metadata.ownerReferences.apiVersion "},
             {owner("{apiVersion: v1, kind: Event, name: x, uid: u}"), "metadata.ownerReferences "},
             {owner("{apiVersion: v1}"),
              "metadata.ownerReferences.kind metadata.ownerReferences.name metadata.ownerReferences.uid "},
             {owner("{apiVersion: v1, kind: K, name: x, uid: u, controller: true},"
                    "{apiVersion: v1, kind: K, name: m, uid: w, controller: true}"),
              "metadata.ownerReferences "}}) {
        EXPECT_EQ(faults_of(bad), paths) << bad.substr(0, 200);
    }
}

TEST(metadata, has_no_other_members) {
    doc::arena memory;
    const auto document =
        doc::parse_yaml(memory, "{name: a, Name: b, managedFields: [], ownerReferences: [{uid: u, foo: 1}]}");
    EXPECT_EQ(unknown_metadata(document.value()),
              (std::vector<std::string>{"metadata.Name", "metadata.ownerReferences[0].foo"}));
}

}  // namespace
}  // namespace cotrain::crd
