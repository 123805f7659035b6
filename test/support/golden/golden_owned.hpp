// The fields that a server-side apply makes its manager own, listed as the recordings do: keyed lists by their keys,
// atomic values as one. Empty maps and lists are left out, like in the loose comparison.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "doc/json.hpp"
#include "support/golden/golden_normal.hpp"

namespace cotrain::golden {

class ownership {
   public:
    static std::set<std::string> of(ref applied) {
        std::set<std::string> out;
        for (const auto& m : applied.members()) {
            if (m.key() == "apiVersion" || m.key() == "kind") continue;
            // Difference 33: the runtime snapshot.
            if (m.key() == "immutable" && applied.get("kind").as_string() == "ConfigMap") continue;
            if (m.key() != "metadata") {
                walk(std::string(m.key()), m.key(), m.value, out);
                continue;
            }
            for (const auto& n : m.value.members()) {
                if (n.key() != "name" && n.key() != "namespace") {
                    walk("metadata." + std::string(n.key()), n.key(), n.value, out);
                }
            }
        }
        // A CRD without a schema: objects below spec count beside their members.
        if (applied.get("apiVersion").as_string().starts_with("scheduling.volcano.sh/")) {
            for (const auto& m : applied.get("spec").members()) {
                if (m.value.is_object() && !m.value.empty()) out.insert("spec." + std::string(m.key()));
            }
        }
        return out;
    }
    static std::set<std::string> recorded(ref by_operation) {
        std::set<std::string> out;
        for (const auto& m : by_operation.members()) {
            for (const ref path : m.value.items()) {
                if (!path.as_string().ends_with(" (empty)")) out.emplace(path.as_string());
            }
        }
        return out;
    }

   private:
    static const std::vector<std::string_view>* keys_of(std::string_view list) {
        static const std::map<std::string_view, std::vector<std::string_view>> keys{
            {"replicatedJobs", {"name"}},
            {"containers", {"name"}},
            {"initContainers", {"name"}},
            {"env", {"name"}},
            {"ports", {"containerPort", "protocol"}},
            {"volumeMounts", {"mountPath"}},
            {"volumes", {"name"}},
            {"imagePullSecrets", {"name"}},
            {"schedulingGates", {"name"}},
            {"hostAliases", {"ip"}},
            {"topologySpreadConstraints", {"topologyKey", "whenUnsatisfiable"}},
            {"ownerReferences", {"uid"}}};
        const auto found = keys.find(list);
        return found == keys.end() ? nullptr : &found->second;
    }
    static bool atomic(std::string_view name) {
        static const std::set<std::string_view> names{
            "fieldRef",         "configMap",
            "resourceFieldRef", "configMapKeyRef",
            "secretKeyRef",     "nodeSelector",
            "labelSelector",    "ownerReferences",
            "imagePullSecrets", "requiredDuringSchedulingIgnoredDuringExecution"};
        return names.contains(name);
    }

    static std::string key_text(const std::vector<std::string_view>& keys, ref item) {
        std::string out = "[{";
        for (const auto key : keys) {
            const ref value = item.get(key);
            if (out.size() > 2) out += ",";
            out.append("\"").append(key).append("\":");
            out.append(value ? doc::to_json(value) : "\"TCP\"");  // the only key that has a default: protocol
        }
        return out.append("}]");
    }

    static void walk(const std::string& path, std::string_view name, ref value, std::set<std::string>& out) {
        if (value.is_container() && value.empty()) return;
        if (value.is_array()) {
            const auto* const keys = keys_of(name);
            if (keys == nullptr) {
                out.insert(path);
                return;
            }
            for (const ref item : value.items()) {
                const std::string place = path + key_text(*keys, item);
                out.insert(place);
                if (atomic(name)) continue;
                for (const auto& m : item.members()) walk(place + "." + std::string(m.key()), m.key(), m.value, out);
            }
            return;
        }
        if (!value.is_object() || (atomic(name))) {
            out.insert(path);
            return;
        }
        for (const auto& m : value.members()) walk(path + "." + std::string(m.key()), m.key(), m.value, out);
    }
};

}  // namespace cotrain::golden
