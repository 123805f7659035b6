// Reads manifests within bounds.
#include "app/manifests.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "api/json.hpp"
#include "api/yaml.hpp"

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
        if (text.size() > api::document_bytes_max) {
            return unreadable(name + ": larger than " + mebibytes(api::document_bytes_max) +
                              "; split it into several files");
        }
        if (text.size() == before) break;
    }
    if (std::ferror(from) != 0) return unreadable(name + ": " + std::strerror(errno));
    return add_text(std::move(text), name);
}

base::result<> manifests::add_text(std::string text, const std::string& name) {
    bytes_ += text.size();
    if (bytes_ > input_bytes_max) {
        return unreadable(name + ": all input together is larger than " + mebibytes(input_bytes_max) +
                          "; give fewer files at once");
    }
    texts_.push_back(std::move(text));
    const auto documents = api::parse_yaml_stream(memory_, texts_.back());
    if (!documents) return unreadable(name + ": " + documents.error().message);
    for (const auto& each : *documents) {
        if (each.value.is_unset()) continue;
        if (auto added = add_document(each.value, name + ":" + std::to_string(each.line)); !added) return added;
    }
    return {};
}

base::result<> manifests::add_document(api::ref document, std::string where) {
    if (!document.is_object() || !document.get("kind").is_string() || !document.get("apiVersion").is_string()) {
        return unreadable(where + ": not a Kubernetes object: it needs apiVersion and kind");
    }
    const api::ref items = document.get("items");
    if (!document.get("kind").as_string().ends_with("List") || !items.is_array()) {
        list_.push_back({document, std::move(where)});
        return {};
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
        const api::ref item = items.at(i);
        const std::string place = where + " items[" + std::to_string(i) + "]";
        if (item.get("kind").as_string().ends_with("List")) return unreadable(place + ": a List in a List");
        if (auto added = add_document(item, place); !added) return added;
    }
    return {};
}

}  // namespace cotrain::app
