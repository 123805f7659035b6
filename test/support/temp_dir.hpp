// A directory that goes away with its test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace cotrain::test {

class temp_dir {
   public:
    temp_dir() {
        std::string name = (std::filesystem::temp_directory_path() / "cotrain-test-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
        path_ = name;
    }
    ~temp_dir() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    temp_dir(const temp_dir&) = delete;
    temp_dir& operator=(const temp_dir&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }
    // Replaces the file at once, as kubelet does; returns its path.
    std::string write(const std::string& name, const std::string& content) const {
        std::ofstream(path(name + ".new"), std::ios::binary) << content;
        std::filesystem::rename(path(name + ".new"), path(name));
        return path(name);
    }
    // A shell script that can be run.
    std::string script(const std::string& name, const std::string& body) const {
        write(name, "#!/bin/sh\n" + body);
        std::filesystem::permissions(path(name), std::filesystem::perms::owner_all);
        return path(name);
    }
    [[nodiscard]] std::string read(const std::string& name) const {
        std::ifstream file(path(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

   private:
    std::string path_;
};

}  // namespace cotrain::test
