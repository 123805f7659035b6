// Random requests to write one object: applies, updates and patches by several managers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::test {

enum class write_verb : std::uint8_t { apply, update, merge, json, strategic };

struct write_step {
    write_verb verb = write_verb::apply;
    std::string manager;
    bool force = false;
    bool status = false;
    std::string body;
};

// What documents of a kind can hold: makes random configurations and patches.
class random_writes {
   public:
    random_writes(doc::arena& memory, std::uint64_t seed) : memory_(memory), random_(seed) {}

    [[nodiscard]] bool one_in(unsigned n) { return random_.next() % n == 0; }
    [[nodiscard]] std::uint64_t below(std::uint64_t n) { return random_.next() % n; }
    [[nodiscard]] std::string word(std::string_view prefix, unsigned choices) {
        return std::string{prefix} + std::to_string(below(choices));
    }
    [[nodiscard]] doc::arena& memory() { return memory_; }

    // An object of texts with random names; never absent.
    void texts(doc::editor into, unsigned most) {
        for (auto n = below(most + 1); n > 0; --n) into.set(word("k", 4), word("v", 3));
    }

    void metadata(doc::editor& object) {
        doc::editor meta = object.ensure_object("metadata");
        if (one_in(2)) texts(meta.ensure_object("labels"), 2);
        if (one_in(3)) texts(meta.ensure_object("annotations"), 2);
        if (one_in(6)) {
            for (auto n = below(3); n > 0; --n) add_new(meta.ensure_array("finalizers"), word("example.com/f", 3));
        }
        if (one_in(6)) {
            for (auto n = below(2) + 1; n > 0; --n) {
                doc::editor owner = meta.ensure_array("ownerReferences").ensure_entry("uid", word("u-", 3));
                owner.set("apiVersion", "v1").set("kind", "ConfigMap").set("name", word("o", 2));
            }
        }
    }

    void config_map(doc::editor& object) {
        metadata(object);
        if (one_in(4)) return;
        texts(object.ensure_object("data"), 3);
        if (one_in(5))
            object.ensure_object("binaryData").set(word("b", 2), std::string_view(one_in(2) ? "AAAA" : "AQ=="));
    }

    void train_job(doc::editor& object) {
        metadata(object);
        doc::editor spec = object.ensure_object("spec");
        spec.ensure_object("runtimeRef").set("name", "torch");
        if (one_in(4)) spec.ensure_object("runtimeRef").set("kind", "TrainingRuntime");
        if (one_in(3)) texts(spec.ensure_object("labels"), 2);
        if (one_in(3)) spec.set("suspend", one_in(2));
        if (one_in(2)) trainer(spec.ensure_object("trainer"));
        if (one_in(3)) {
            doc::editor dataset = spec.ensure_object({"initializer", "dataset"});
            dataset.set("storageUri", word("hf://d", 2));
            if (one_in(2)) env(dataset);
        }
        if (one_in(3)) patches(spec);
    }

    void train_job_status(doc::editor& object) {
        doc::editor status = object.ensure_object("status");
        for (auto n = below(3); n > 0; --n) {
            doc::editor condition = status.ensure_array("conditions").ensure_entry("type", word("T", 3));
            condition.set("status", one_in(2) ? "True" : "False").set("reason", word("R", 2));
            condition.set("message", word("m", 3)).set("lastTransitionTime", "2026-01-02T03:04:05Z");
        }
        for (auto n = below(3); n > 0; --n) {
            doc::editor jobs = status.ensure_array("jobsStatus").ensure_entry("name", word("j", 3));
            for (const char* name : {"ready", "succeeded", "failed", "active", "suspended"}) jobs.set(name, below(3));
        }
    }

    void job_set(doc::editor& object) {
        metadata(object);
        doc::editor spec = object.ensure_object("spec");
        if (one_in(3)) spec.set("suspend", one_in(2));
        if (one_in(4)) spec.ensure_object("network").set("enableDNSHostnames", one_in(2));
        for (auto n = below(3); n > 0; --n) {
            doc::editor job = spec.ensure_array("replicatedJobs").ensure_entry("name", word("j", 3));
            if (one_in(2)) job.set("replicas", below(3));
            doc::editor pod = job.ensure_object({"template", "spec", "template", "spec"});
            if (one_in(3)) texts(pod.ensure_object("nodeSelector"), 2);
            for (auto c = below(2) + 1; c > 0; --c) container(pod);
        }
    }

   private:
    static void add_new(doc::editor list, const std::string& text) {
        for (const doc::ref each : list.view().items()) {
            if (each.as_string() == text) return;
        }
        list.append(text);
    }

    void env(doc::editor into) {
        for (auto n = below(4); n > 0; --n) {
            doc::editor entry = into.ensure_array("env").ensure_entry("name", word("E", 4));
            entry.set("value", word("v", 3));
        }
    }

    void trainer(doc::editor into) {
        if (one_in(2)) into.set("image", word("image:", 3));
        if (one_in(3)) into.set("numNodes", below(3) + 1);
        if (one_in(3)) {
            doc::editor list = into.ensure_array("command");
            list.clear();
            for (auto n = below(3); n > 0; --n) list.append(word("c", 3));
        }
        if (one_in(2)) env(into);
        if (one_in(3)) into.ensure_object({"resourcesPerNode", "limits"}).set(word("r.example/x", 2), word("", 3));
    }

    void patches(doc::editor spec) {
        for (auto n = below(2) + 1; n > 0; --n) {
            doc::editor patch = spec.ensure_array("runtimePatches").ensure_entry("manager", word("example.com/p", 3));
            if (one_in(2)) texts(patch.ensure_object({"trainingRuntimeSpec", "template", "metadata", "labels"}), 2);
        }
    }

    void container(doc::editor pod) {
        doc::editor one = pod.ensure_array("containers").ensure_entry("name", word("c", 2));
        if (one_in(2)) one.set("image", word("i", 2));
        env(one);
        if (one_in(3)) {
            for (auto n = below(2) + 1; n > 0; --n) {
                doc::editor ports = one.ensure_array("ports");
                const auto port = 80 + below(2);
                bool there = false;
                for (const doc::ref each : ports.view().items())
                    there = there || each.get("containerPort").as_int(0) == static_cast<std::int64_t>(port);
                if (there) continue;
                doc::editor entry = ports.append_object();
                entry.set("containerPort", port);
                if (one_in(2)) entry.set("name", word("p", 2));
            }
        }
    }

    doc::arena& memory_;
    base::random_source random_;
};

}  // namespace cotrain::test
