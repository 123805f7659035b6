// Random but valid pod templates and strategic merge patches of them, directives included.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "doc/edit.hpp"

namespace cotrain::test {

// Few names, so that originals and patches meet. What a name stands for never changes (a volume's source, whether a
// variable has a value): where it does, ours differs from the API server on purpose.
class random_templates {
   public:
    random_templates(doc::arena& memory, std::uint64_t seed) : memory_(memory), random_(seed) {}

    doc::ref original() { return pod_template(false); }
    doc::ref patch() { return pod_template(true); }

   private:
    using editor = doc::editor;

    std::uint64_t below(std::uint64_t n) { return random_.next() % n; }
    bool maybe() { return below(2) == 0; }
    bool rarely() { return below(8) == 0; }
    std::string name() { return std::string(1, static_cast<char>('a' + below(5))); }
    editor object() { return editor::object(memory_); }

    doc::ref pod_template(bool patch) {
        editor out = object();
        if (maybe()) out.ensure_object("metadata").set("labels", texts(patch));
        editor spec = out.ensure_object("spec");
        // Mounts need their volumes: few patches take one away.
        const how volumes{.patch = patch, .all = !patch, .takes_away = patch && below(6) == 0};
        list(spec, "volumes", volumes, [&](const std::string& n, bool) { return volume(n, patch); });
        const how containers{.patch = patch, .all = !patch};
        list(spec, "containers", containers,
             [&](const std::string& n, bool fresh) { return container(n, patch && !fresh); });
        // New ones are kept as the patch has them, directives and all: so these have none inside.
        if (maybe())
            list(spec, "initContainers", {patch},
                 [&](const std::string& n, bool) { return container("i" + n, false); });
        if (maybe()) spec.set("nodeSelector", texts(patch));
        if (maybe()) spec.set("tolerations", tolerations());
        if (maybe()) list(spec, "imagePullSecrets", {patch}, [&](const std::string& n, bool) { return named(n); });
        if (maybe()) list(spec, "schedulingGates", {patch}, [&](const std::string& n, bool) { return named(n); });
        if (maybe())
            list(
                spec, "topologySpreadConstraints", {patch}, [&](const std::string& n, bool) { return spread(n); },
                "topologyKey");
        if (maybe()) spec.set("securityContext", security(patch));
        if (maybe()) spec.set("affinity", affinity(patch));
        if (maybe()) spec.set("terminationGracePeriodSeconds", below(9));
        for (const std::string_view field : {"tolerations", "affinity", "imagePullSecrets", "schedulerName"}) {
            if (patch && rarely()) take_away(spec, field);
        }
        return doc::freeze(memory_, out);
    }

    static void take_away(editor from, std::string_view field) {
        from.set(field, nullptr);
        from.remove("$setElementOrder/" + std::string(field));
    }

    editor named(const std::string& n) { return object().set("name", n); }

    // Labels and selectors: a patch may take some away, or all.
    editor texts(bool patch) {
        editor out = object();
        const bool replace = patch && rarely();
        if (replace) out.set("$patch", "replace");
        for (std::uint64_t n = below(4); n > 0; --n) {
            if (patch && !replace && rarely()) {
                out.set(name(), nullptr);
            } else {
                out.set(name(), name());
            }
        }
        return out;
    }

    struct how {
        bool patch = false;
        bool all = false;         // an item of every name
        bool takes_away = patch;  // with $patch
    };

    // Items of different names, with the directives that patches may have. `make` gets the name, and whether the item
    // is to stand alone.
    template <class Make>
    void list(editor parent, const std::string& field, how way, const Make& make, std::string_view key = "name") {
        std::vector<std::string> names{"a", "b", "c", "d", "e"};
        for (std::size_t i = names.size(); i > 1; --i) std::swap(names[i - 1], names[below(i)]);
        editor out = editor::array(memory_);
        editor order = editor::array(memory_);
        const bool replace = way.takes_away && rarely();
        if (replace) out.append_object().set("$patch", "replace");
        for (const auto& n : names) {
            const bool brought = way.all || maybe();
            const editor item = make(n, replace);
            const auto reference = [&](editor to) { return to.append_object().set(key, item.get(key)); };
            if (brought && !replace && way.takes_away && rarely()) {
                reference(out).set("$patch", "delete");
                continue;
            }
            reference(order);
            if (brought || (replace && out.size() == 1)) out.append(item);
        }
        if (way.patch && out.size() == 0) return;  // the API server fails where there is nothing on either side
        parent.set(field, out);
        if (way.patch && !replace && maybe()) parent.set("$setElementOrder/" + field, order);
    }

    editor volume(const std::string& n, bool patch) {
        editor out = named(n);
        std::string source = "emptyDir";
        if (n == "a" || n == "b") {
            out.ensure_object(source);
            if (maybe()) out.ensure_object(source).set("sizeLimit", maybe() ? "1Gi" : "1000m");
        } else if (n == "c") {
            source = "configMap";
            out.ensure_object(source).set("name", name());
            if (maybe()) out.ensure_object(source).set("optional", maybe());
        } else {
            source = "secret";
            out.ensure_object(source).set("secretName", name());
        }
        if (patch && rarely()) out.ensure_array("$retainKeys").append("name").append(source);
        return out;
    }

    editor container(const std::string& n, bool patch) {
        editor out = named(n);
        if (!patch || maybe()) out.set("image", name());
        if (maybe()) out.ensure_array("command").append(name());
        if (maybe()) list(out, "env", {patch}, [&](const std::string& v, bool) { return variable(v); });
        if (maybe()) list(out, "ports", {patch}, [&](const std::string& p, bool) { return port(p); }, "containerPort");
        if (maybe())
            list(out, "volumeMounts", {patch}, [&](const std::string& m, bool) { return mount(m); }, "mountPath");
        if (maybe()) {
            editor limits = out.ensure_object({"resources", "limits"});
            for (const std::string_view resource : {"cpu", "memory", "example.com/gpu"}) {
                if (patch && rarely()) {
                    limits.set(resource, nullptr);
                } else if (maybe()) {
                    limits.set(resource, 1 + below(4));
                }
            }
        }
        if (patch && rarely()) take_away(out, maybe() ? "env" : "command");
        return out;
    }

    editor port(const std::string& n) {
        editor out = object();
        out.set("containerPort", static_cast<int>(n[0]));
        if (maybe()) out.set("hostIP", "10.0.0.1");
        return out;
    }

    editor mount(const std::string& n) {
        editor out = object();
        out.set("mountPath", "/" + n).set("name", name());
        if (maybe()) out.set("readOnly", maybe());
        return out;
    }

    editor variable(const std::string& n) {
        editor out = named(n);
        if (n == "a" || n == "b" || n == "c") {
            out.set("value", name());
        } else {
            out.ensure_object({"valueFrom", "fieldRef"}).set("fieldPath", maybe() ? "metadata.name" : "status.podIP");
        }
        return out;
    }

    editor tolerations() {
        editor out = editor::array(memory_);
        for (std::uint64_t n = below(3); n > 0; --n) out.append_object().set("key", name()).set("operator", "Exists");
        return out;
    }

    editor spread(const std::string& n) {
        editor out = object();
        out.set("topologyKey", n).set("maxSkew", 1 + below(3)).set("whenUnsatisfiable", "DoNotSchedule");
        return out;
    }

    editor security(bool patch) {
        editor out = object();
        if (maybe()) out.set("runAsUser", below(9));
        if (maybe()) out.ensure_array("supplementalGroups").append(below(3));
        if (maybe()) out.ensure_object("seLinuxOptions").set("level", name());
        if (patch && rarely()) {
            out.set("$patch", "replace");
        } else if (patch && rarely()) {
            out.set("runAsUser", nullptr);
        }
        return out;
    }

    editor affinity(bool patch) {
        editor out = object();
        editor node = out.ensure_object("nodeAffinity");
        editor term = node.ensure_object("requiredDuringSchedulingIgnoredDuringExecution")
                          .ensure_array("nodeSelectorTerms")
                          .append_object();
        term.ensure_array("matchExpressions").append_object().set("key", name()).set("operator", "Exists");
        if (patch && maybe()) node.set("requiredDuringSchedulingIgnoredDuringExecution", nullptr);
        return out;
    }

    doc::arena& memory_;
    base::random_source random_;
};

}  // namespace cotrain::test
