// Files, folders and standard input as one list of Kubernetes objects, each with the place it came from.
#pragma once

#include <cstdio>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/arena.hpp"
#include "api/tree.hpp"
#include "base/error.hpp"

namespace cotrain::app {

// All input together; one file may have api::document_bytes_max.
inline constexpr std::size_t input_bytes_max = 64UL * 1024 * 1024;

struct manifest {
    api::ref document;
    std::string where;  // "job.yaml:12", or with the place in a List "jobs.yaml:1 items[3]"
};

class manifests {
   public:
    // A file, a folder's *.yaml, *.yml and *.json in the order of their names, or "-" for `standard_input`.
    [[nodiscard]] base::result<> add_path(const std::string& path, std::FILE* standard_input);
    // The objects of a YAML or JSON text. Empty documents are skipped, Lists opened.
    [[nodiscard]] base::result<> add_text(std::string text, const std::string& name);

    [[nodiscard]] std::span<const manifest> list() const { return list_; }
    [[nodiscard]] bool read_input() const { return read_input_; }

   private:
    [[nodiscard]] base::result<> add_file(std::FILE* from, const std::string& name);
    [[nodiscard]] base::result<> add_folder(const std::string& path);
    [[nodiscard]] base::result<> add_document(api::ref document, std::string where);

    api::arena memory_{api::arena_bytes_max};
    std::deque<std::string> texts_;  // documents refer to them
    std::vector<manifest> list_;
    std::size_t bytes_ = 0;
    bool read_input_ = false;
};

}  // namespace cotrain::app
