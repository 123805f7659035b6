// `cotrain apiserver`: options, envtest's flags, definitions from files.
#include "playground/apiserver.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/temp_dir.hpp"

namespace cotrain::playground {
namespace {

TEST(apiserver, reads_options) {
    const std::vector<std::string_view> words{"--crds", "a", "--crds=b", "--port", "7", "--no-controllers"};
    const auto all = read_apiserver_options(words);
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(all->definitions, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(all->port, 7);
    EXPECT_FALSE(all->controllers);
    const auto error = [](std::vector<std::string_view> given) {
        const auto done = read_apiserver_options(given);
        return done ? std::string() : done.error().message;
    };
    EXPECT_EQ(error({"--port", "x"}), "--port: 'x' is no port; 0 to 65535, 0 is any free one");
    EXPECT_EQ(error({"--crd", "x"}), "unknown option '--crd'; --help lists them");
    EXPECT_EQ(error({"--crds", ""}), "--crds: needs the name of a file or directory");
}

TEST(apiserver, reads_what_envtest_says_to_kube_apiserver) {
    const std::vector<std::string_view> words{"--allow-privileged=true",
                                              "--authorization-mode=RBAC",
                                              "--bind-address=127.0.0.1",
                                              "--cert-dir=/c",
                                              "--client-ca-file=/c/ca.crt",
                                              "--etcd-servers",
                                              "http://127.0.0.1:1",
                                              "--secure-port",
                                              "6443"};
    const auto all = read_kube_apiserver_flags(words);
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(all->port, 6443);
    EXPECT_EQ(all->certificate_dir, "/c");
    EXPECT_EQ(all->client_ca_file, "/c/ca.crt");
    EXPECT_FALSE(all->controllers);
    const std::vector<std::string_view> wrong{"--secure-port=x"};
    EXPECT_TRUE(read_kube_apiserver_flags(wrong).error().message.starts_with("--secure-port: 'x' is no port"));
}

struct scene {
    test::temp_dir dir;
    sim::cluster all{1};
    std::vector<std::string> unjudged;

    scene() { EXPECT_TRUE(add_first_objects(all, true)); }
    std::string path(const std::string& name) const { return dir.path(name); }
    std::string load(const std::string& name, std::string_view text) {
        const auto done = load_definitions(all, dir.write(name, std::string{text}), false, unjudged);
        return done ? "" : done.error().message;
    }
};

constexpr std::string_view things = R"(# things
apiVersion: v1
kind: Namespace
metadata: {name: other}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations:
            - rule: self.size > 1
            properties:
              size: {type: integer}
)";

TEST(apiserver, loads_definitions) {
    scene s;
    EXPECT_EQ(s.load("things.yaml", things), "");
    EXPECT_NE(s.all.types().find("example.com", "v1", "things"), nullptr);
    EXPECT_EQ(s.unjudged,
              std::vector<std::string>{"things.example.com/v1: not judged: 1 CEL rules, 0 other constraints"});
}

TEST(apiserver, says_file_and_line_of_what_is_wrong) {
    scene s;
    EXPECT_EQ(s.load("a.yaml", "kind: Namespace\n"), s.path("a.yaml") + " has no CustomResourceDefinition");
    std::string text{things};
    text.replace(text.find("size: {type"), 11, "size: {typ");
    EXPECT_EQ(s.load("b.yaml", text), s.path("b.yaml") +
                                          ":26: spec.versions[0].schema.openAPIV3Schema.properties.spec.properties."
                                          "size.typ: Invalid value: unknown field");
    EXPECT_TRUE(s.load("c.yaml", "a: [\n").starts_with(s.path("c.yaml") + ": line "));
    const auto nowhere = load_definitions(s.all, s.path("nowhere"), false, s.unjudged);
    EXPECT_EQ(nowhere.error().message, s.path("nowhere") + " is not there");
}

TEST(apiserver, writes_programs_for_envtest) {
    const test::temp_dir dir;
    const std::string assets = dir.path("it's");
    ASSERT_TRUE(write_envtest(assets));
    for (const char* name : {"etcd", "kube-apiserver"}) {
        std::ifstream in(assets + "/" + name);
        std::string first, second;
        std::getline(in, first);
        std::getline(in, second);
        EXPECT_EQ(first, "#!/bin/sh");
        EXPECT_TRUE(second.starts_with("exec '/") &&
                    second.ends_with(std::string(" apiserver --as ") + name + " \"$@\""))
            << second;
        EXPECT_EQ(::access((assets + "/" + name).c_str(), X_OK), 0);
    }
}

}  // namespace
}  // namespace cotrain::playground
