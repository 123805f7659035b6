// Files, folders and standard input as one list of Kubernetes objects, each with the place it came from.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "doc/arena.hpp"
#include "doc/tree.hpp"
#include "doc/yaml_places.hpp"

namespace cotrain::app {

// All input together; one file may have doc::document_bytes_max.
inline constexpr std::size_t input_bytes_max = 64UL * 1024 * 1024;

// A file as it was read.
struct source {
    std::string name;
    std::string text;
};

struct manifest {
    doc::ref document;
    std::string where;  // "job.yaml:12", or with the place in a List "jobs.yaml:1 items[3]"
    std::shared_ptr<const source> from = nullptr;
    std::size_t line = 0;  // where its document begins
    std::string within{};  // its place in a List: "items[3]"
};

// Finds the lines of fields; reads a source again for the first question about it.
class field_finder {
   public:
    // "job.yaml:7": the line of a field of an object, or of what is above it where the field is not there.
    [[nodiscard]] std::string place(const manifest& of, std::string_view path);

   private:
    std::shared_ptr<const source> last_;
    std::optional<doc::yaml_places> places_;  // of that one
};

class manifests {
   public:
    // A file, a folder's *.yaml, *.yml and *.json in the order of their names, or "-" for `standard_input`.
    [[nodiscard]] base::result<> add_path(const std::string& path, std::FILE* standard_input);
    // The objects of a YAML or JSON text. Empty documents are skipped, Lists opened.
    [[nodiscard]] base::result<> add_text(std::string_view text, const std::string& name);

    [[nodiscard]] std::span<const manifest> list() const { return list_; }
    // What is wrong with a text that was read all the same: "job.yaml: line 4, column 3: 'a' occurs twice …".
    [[nodiscard]] std::span<const std::string> warnings() const { return warnings_; }
    [[nodiscard]] std::size_t files() const { return files_; }

   private:
    [[nodiscard]] base::result<> add_file(std::FILE* from, const std::string& name);
    [[nodiscard]] base::result<> add_folder(const std::string& path);
    [[nodiscard]] base::result<> add_document(const manifest& found);

    doc::arena memory_{doc::arena_bytes_max};
    std::vector<manifest> list_;
    std::vector<std::string> warnings_;
    std::size_t bytes_ = 0;
    std::size_t files_ = 0;
    bool read_input_ = false;
};

}  // namespace cotrain::app
