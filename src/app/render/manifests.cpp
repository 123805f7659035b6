// Reads manifests within bounds.
#include "app/render/manifests.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "doc/json.hpp"
#include "doc/yaml.hpp"

namespace cotrain::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t block_bytes = 64UL * 1024;

std::unexpected<base::error> unreadable(std::string message) {
    return base::fail(base::errc::invalid, std::move(message));
}

bool is_manifest(const fs::path& path) {
    const auto extension = path.extension();
    return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

std::string mebibytes(std::size_t bytes) { return std::to_string(bytes >> 20U) + " MiB"; }

}  // namespace

base::result<> manifests::add_path(const std::string& path, std::FILE* standard_input) {
    if (path == "-") {
        if (std::exchange(read_input_, true)) return unreadable("-f - is given twice; standard input is read once");
        return add_file(standard_input, "standard input");
    }
    std::error_code code;
    const fs::file_status status = fs::status(path, code);
    if (status.type() == fs::file_type::not_found) return unreadable(path + ": no such file or folder");
    if (fs::is_directory(status)) return add_folder(path);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
    if (!file) return unreadable(path + ": " + std::strerror(errno));
    return add_file(file.get(), path);
}

base::result<> manifests::add_folder(const std::string& path) {
    std::vector<std::string> names;
    std::error_code code;
    for (fs::directory_iterator entry(path, code), end; !code && entry != end; entry.increment(code)) {
        std::error_code ignored;
        if (is_manifest(entry->path()) && !entry->is_directory(ignored)) names.push_back(entry->path().string());
    }
    if (code) return unreadable(path + ": " + code.message());
    if (names.empty()) return unreadable(path + ": no *.yaml, *.yml or *.json in this folder");
    std::ranges::sort(names);
    for (const std::string& name : names) {
        if (auto added = add_path(name, nullptr); !added) return added;
    }
    return {};
}

base::result<> manifests::add_file(std::FILE* from, const std::string& name) {
    std::string text;
    for (;;) {
        const std::size_t before = text.size();
        text.resize(before + block_bytes);
        text.resize(before + std::fread(text.data() + before, 1, block_bytes, from));
        if (text.size() > doc::document_bytes_max) {
            return unreadable(name + ": larger than " + mebibytes(doc::document_bytes_max) +
                              "; split it into several files");
        }
        if (text.size() == before) break;
    }
    if (std::ferror(from) != 0) return unreadable(name + ": " + std::strerror(errno));
    return add_text(text, name);
}

base::result<> manifests::add_text(std::string_view text, const std::string& name) {
    bytes_ += text.size();
    if (bytes_ > input_bytes_max) {
        return unreadable(name + ": all input together is larger than " + mebibytes(input_bytes_max) +
                          "; give fewer files at once");
    }
    const auto documents = doc::parse_yaml_stream(memory_, text);
    if (!documents) return unreadable(name + ": " + documents.error().message);
    ++files_;
    const auto from = std::make_shared<const source>(name, std::string(text));
    for (const auto& each : *documents) {
        for (const auto& warning : each.warnings) warnings_.push_back(name + ": " + warning + ": the last one counts");
        if (each.value.is_unset()) continue;
        const manifest found{each.value, name + ":" + std::to_string(each.line), from, each.line};
        if (auto added = add_document(found); !added) return added;
    }
    return {};
}

base::result<> manifests::add_document(const manifest& found) {
    const doc::ref document = found.document;
    if (!document.is_object() || !document.get("kind").is_string() || !document.get("apiVersion").is_string()) {
        return unreadable(found.where + ": not a Kubernetes object: it needs apiVersion and kind");
    }
    const doc::ref items = document.get("items");
    if (!document.get("kind").as_string().ends_with("List") || !items.is_array()) {
        list_.push_back(found);
        return {};
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
        const doc::ref item = items.at(i);
        const std::string place = "items[" + std::to_string(i) + "]";
        const std::string where = found.where + " " + place;
        if (item.get("kind").as_string().ends_with("List")) return unreadable(where + ": a List in a List");
        if (auto added = add_document({item, where, found.from, found.line, place}); !added) return added;
    }
    return {};
}

std::string field_finder::place(const manifest& of, std::string_view path) {
    if (!of.from) return of.where;
    if (last_ != of.from) {
        places_.emplace(of.from->text);
        last_ = of.from;
    }
    std::string full = of.within;
    if (!full.empty() && !path.empty()) full += '.';
    const doc::text_place found = places_->find(of.line, full.append(path));
    return found.line == 0 ? of.where : of.from->name + ":" + std::to_string(found.line);
}

}  // namespace cotrain::app
