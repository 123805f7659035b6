// The rules of ObjectMeta.
#include "crd/metadata.hpp"
#include "crd/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "api/validation.hpp"
#include "base/error.hpp"
#include "doc/json.hpp"

namespace cotrain::crd {
namespace {

constexpr std::array known_members{std::string_view{"name"},         std::string_view{"generateName"},
                                   std::string_view{"namespace"},    std::string_view{"selfLink"},
                                   std::string_view{"uid"},          std::string_view{"resourceVersion"},
                                   std::string_view{"generation"},   std::string_view{"creationTimestamp"},
                                   std::string_view{"labels"},       std::string_view{"deletionTimestamp"},
                                   std::string_view{"annotations"},  std::string_view{"deletionGracePeriodSeconds"},
                                   std::string_view{"finalizers"},   std::string_view{"ownerReferences"},
                                   std::string_view{"managedFields"}};
constexpr std::array known_owner_members{std::string_view{"apiVersion"}, std::string_view{"kind"},
                                         std::string_view{"name"},       std::string_view{"uid"},
                                         std::string_view{"controller"}, std::string_view{"blockOwnerDeletion"}};

class judge {
   public:
    std::vector<violation> verdict(doc::ref metadata) {
        judge_names(metadata);
        judge_labels(metadata.get("labels"));
        judge_annotations(metadata.get("annotations"));
        judge_owners(metadata.get("ownerReferences"));
        judge_finalizers(metadata.get("finalizers"));
        return std::move(out_);
    }

   private:
    void report(std::string path, fault kind, std::string detail) {
        if (out_.size() < violations_max) out_.push_back({std::move(path), kind, std::move(detail)});
    }
    void invalid(const std::string& path, std::string_view value, std::string_view why) {
        const std::string shown = base::one_line(value, shown_value_bytes_max);
        report(path, fault::invalid, fmt::format("\"{}\": {}", shown, why));
    }
    void invalid(const std::string& path, std::string_view value, const api::faults& found) {
        for (const std::string& fault : found) invalid(path, value, fault);
    }

    void judge_names(doc::ref metadata) {
        const doc::ref prefix = metadata.get("generateName");
        if (prefix.is_string() && !prefix.text().empty()) {
            // The server puts more behind it, so that it may end with a dash.
            std::string as_name(prefix.text());
            if (as_name.size() > 1 && as_name.ends_with('-')) as_name.back() = 'a';
            invalid("metadata.generateName", prefix.text(), api::check_dns1123_subdomain(as_name));
        }
        const doc::ref name = metadata.get("name");
        if (!name.is_string() || name.text().empty()) {
            report("metadata.name", fault::required, "a name is needed, generateName is the API server's");
        } else {
            invalid("metadata.name", name.text(), api::check_dns1123_subdomain(name.text()));
        }
        const doc::ref ns = metadata.get("namespace");
        if (ns.is_string() && !ns.text().empty()) {
            invalid("metadata.namespace", ns.text(), api::check_dns1123_label(ns.text()));
        }
    }

    void judge_labels(doc::ref labels) {
        for (const doc::member& m : labels.members()) {
            invalid("metadata.labels", m.key(), api::check_qualified_name(m.key()));
            invalid("metadata.labels", m.value.as_string(), api::check_label_value(m.value.as_string()));
        }
    }

    void judge_annotations(doc::ref annotations) {
        std::size_t bytes = 0;
        for (const doc::member& m : annotations.members()) {
            std::string key(m.key());
            std::ranges::transform(key, key.begin(),
                                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
            invalid("metadata.annotations", m.key(), api::check_qualified_name(key));
            bytes += m.key().size() + m.value.as_string().size();
        }
        if (bytes > api::annotations_bytes_max) {
            report("metadata.annotations", fault::too_long,
                   fmt::format("{} bytes together, may not be more than {}", bytes, api::annotations_bytes_max));
        }
    }

    void judge_owners(doc::ref owners) {
        const std::string path = "metadata.ownerReferences";
        int controllers = 0;
        for (const doc::ref owner : owners.items()) {
            const auto version = owner.get("apiVersion").as_string();
            if (version.empty() || std::ranges::count(version, '/') > 1) {
                invalid(path + ".apiVersion", version, "must be a version like v1 or example.com/v1");
            }
            for (const std::string_view needed : {"kind", "name", "uid"}) {
                const auto value = owner.get(needed).as_string();
                if (value.empty()) invalid(fmt::format("{}.{}", path, needed), value, "must not be empty");
            }
            if (version == "v1" && owner.get("kind").as_string() == "Event") {
                invalid(path, "Event", "events own nothing");
            }
            if (owner.get("controller").as_bool(false)) ++controllers;
        }
        if (controllers > 1) {
            report(path, fault::invalid, fmt::format("{} of them have controller set to true: one may", controllers));
        }
    }

    void judge_finalizers(doc::ref finalizers) {
        bool orphans = false;
        bool waits = false;
        for (const doc::ref each : finalizers.items()) {
            const auto name = each.as_string();
            invalid("metadata.finalizers", name, api::check_qualified_name(name));
            orphans = orphans || name == "orphan";
            waits = waits || name == "foregroundDeletion";
        }
        if (orphans && waits) {
            report("metadata.finalizers", fault::invalid, "orphan and foregroundDeletion exclude each other");
        }
    }

    std::vector<violation> out_;
};

}  // namespace

std::vector<violation> check_metadata(doc::ref metadata) { return judge{}.verdict(metadata); }

std::span<const std::string_view> metadata_members() { return known_members; }

std::vector<std::string> unknown_metadata(doc::ref metadata) {
    std::vector<std::string> out;
    const auto note = [&](std::string path) {
        if (out.size() < unknown_fields_max) out.push_back(std::move(path));
    };
    for (const doc::member& m : metadata.members()) {
        if (!std::ranges::contains(known_members, m.key())) note(fmt::format("metadata.{}", m.key()));
    }
    const doc::ref owners = metadata.get("ownerReferences");
    for (std::size_t i = 0; i < owners.size(); ++i) {
        for (const doc::member& m : owners.at(i).members()) {
            if (std::ranges::contains(known_owner_members, m.key())) continue;
            note(fmt::format("metadata.ownerReferences[{}].{}", i, m.key()));
        }
    }
    return out;
}

}  // namespace cotrain::crd
