// One golden case: its steps, what the reference made of them, and which differences are meant.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"

namespace cotrain::golden {

inline std::filesystem::path folder() { return COTRAIN_GOLDEN_DIR; }

inline std::string read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + path.string());
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

inline void replace_all(std::string& text, std::string_view what, std::string_view with) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
        text.replace(at, what.size(), with);
    }
}

// Names of cases, sorted.
inline std::vector<std::string> all_cases() {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(folder() / "cases")) {
        names.push_back(file.path().stem().string());
    }
    std::ranges::sort(names);
    return names;
}

struct recorded_case {
    explicit recorded_case(const std::string& case_name) : name(case_name) {
        text = read_file(folder() / "cases" / (name + ".yaml"));
        // Namespace and prefix get the names that the recordings give them.
        replace_all(text, "${NS}", "$NS");
        replace_all(text, "${P}", "$P");
        recording_text = read_file(folder() / "expected" / (name + ".json"));
        const auto parsed = doc::parse_yaml(memory, text);
        if (!parsed) throw std::runtime_error(name + ": " + parsed.error().message);
        const auto recorded = doc::parse_json(memory, recording_text);
        if (!recorded) throw std::runtime_error(name + ": " + recorded.error().message);
        steps = parsed->get("steps");
        recording = recorded->get("steps");
        for (const doc::ref list : parsed->get("unordered").items()) unordered.emplace(list.as_string());
    }

    std::string name;
    std::string text;
    std::string recording_text;
    doc::arena memory;
    doc::ref steps;
    doc::ref recording;  // by step
    std::set<std::string> unordered;
};

// "/steps/*/JobSet:*/spec" against "/steps/03 snapshot end/JobSet:job/spec/suspend": the start of the path, with *
// for any characters within one segment.
inline bool covers(std::string_view pattern, std::string_view path) {
    while (!pattern.empty()) {
        if (path.empty()) return false;
        const auto segment = [](std::string_view& rest) {
            rest.remove_prefix(1);
            const std::string_view s = rest.substr(0, rest.find('/'));
            rest.remove_prefix(s.size());
            return s;
        };
        const std::string_view want = segment(pattern);
        const std::string_view have = segment(path);
        const std::size_t star = want.find('*');
        const bool same = star == std::string_view::npos
                              ? want == have
                              : have.size() + 1 >= want.size() && have.starts_with(want.substr(0, star)) &&
                                    have.ends_with(want.substr(star + 1));
        if (!same) return false;
    }
    return true;
}

// Differences that the contract wants (test/golden/differences.json). Some show only on a real API server ("live").
class allowances {
   public:
    allowances() {
        text_ = read_file(folder() / "differences.json");
        const auto parsed = doc::parse_json(memory_, text_);
        if (!parsed) throw std::runtime_error("differences.json: " + parsed.error().message);
        for (const doc::ref item : parsed->items()) {
            list_.push_back({std::string(item.get("case").as_string()), std::string(item.get("path").as_string()),
                             std::string(item.get("reason").as_string()), item.get("live").as_bool(false)});
        }
    }
    // Whether the difference is meant; remembers that the entry was needed.
    bool allows(std::string_view name, std::string_view path) {
        bool found = false;
        for (auto& a : list_) {
            if (a.name != name || !covers(a.path, path)) continue;
            a.used = true;
            found = true;
        }
        return found;
    }
    // Entries that no case needs any more.
    [[nodiscard]] std::vector<std::string> stale() const {
        std::vector<std::string> out;
        for (const auto& a : list_) {
            if (!a.used && !a.live) out.push_back(a.name + " " + a.path);
        }
        return out;
    }

   private:
    struct entry {
        std::string name;
        std::string path;
        std::string reason;
        bool live = false;
        bool used = false;
    };
    std::string text_;
    doc::arena memory_;
    std::vector<entry> list_;
};

}  // namespace cotrain::golden
