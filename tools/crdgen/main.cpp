// Makes the CustomResourceDefinitions of deploy/crds, and the types of Kubernetes that they embed.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "crd/crd.hpp"
#include "crd/node.hpp"
#include "doc/arena.hpp"
#include "doc/json.hpp"
#include "import.hpp"
#include "layout.hpp"

namespace cotrain::crdgen {
namespace {

// kubectl keeps a copy of what it applies in an annotation: all annotations together must stay below this.
constexpr std::size_t applied_bytes_max = 256UL * 1024;

constexpr std::string_view usage =
    "crdgen DIR           writes the three definitions into DIR and says how large they are\n"
    "crdgen --import DIR  prints src/crd/kubernetes.json.inc, made of DIR/{core,batch,jobset}.json\n";

struct closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using open_file = std::unique_ptr<std::FILE, closer>;

base::result<std::string> read_file(const std::filesystem::path& path) {
    const open_file file(std::fopen(path.c_str(), "rb"));
    if (!file) return base::fail(base::errc::invalid, fmt::format("cannot open {}", path.string()));
    std::string text;
    std::array<char, 65536> block{};
    while (const std::size_t got = std::fread(block.data(), 1, block.size(), file.get())) {
        if (text.size() + got > doc::document_bytes_max)
            return base::fail(base::errc::too_large, fmt::format("{} is too large", path.string()));
        text.append(block.data(), got);
    }
    if (std::ferror(file.get()) != 0)
        return base::fail(base::errc::invalid, fmt::format("cannot read {}", path.string()));
    return text;
}

base::result<> write_file(const std::filesystem::path& path, std::string_view text) {
    open_file file(std::fopen(path.c_str(), "wb"));
    const bool written = file && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
    if (!written || std::fclose(file.release()) != 0)
        return base::fail(base::errc::invalid, fmt::format("cannot write {}", path.string()));
    return {};
}

base::result<> write_definition(const std::filesystem::path& dir, const crd::definition& of) {
    doc::arena memory;
    const doc::ref crd = crd::make_crd(memory, of);
    const doc::ref schema = crd.get({"spec", "versions"}).at(0).get({"schema", "openAPIV3Schema"});
    if (auto known = crd::read_schema(schema); !known) return std::unexpected(std::move(known.error()));
    const std::string compact = doc::to_json(crd);
    const std::string name = fmt::format("{}_{}.yaml", of.resource.group, of.resource.plural);
    if (compact.size() >= applied_bytes_max) {
        return base::fail(base::errc::too_large, fmt::format("{}: {} bytes as JSON, `kubectl apply` takes less than {}",
                                                             name, compact.size(), applied_bytes_max));
    }
    const std::string text = "# Made by tools/crdgen from src/crd: change it there.\n" + lay_out(crd);
    fmt::print("{}: {} bytes, {} as JSON\n", name, text.size(), compact.size());
    return write_file(dir / name, text);
}

base::result<> generate(const std::filesystem::path& dir) {
    for (const crd::definition& of : crd::definitions()) {
        if (auto written = write_definition(dir, of); !written) return written;
    }
    return {};
}

base::result<> import(const std::filesystem::path& dir) {
    const auto core = read_file(dir / "core.json");
    if (!core) return std::unexpected(core.error());
    const auto batch = read_file(dir / "batch.json");
    if (!batch) return std::unexpected(batch.error());
    const auto job_set = read_file(dir / "jobset.json");
    if (!job_set) return std::unexpected(job_set.error());
    auto text = import_types({*core, *batch, *job_set});
    if (!text) return std::unexpected(std::move(text.error()));
    fmt::print("{}", *text);
    return {};
}

int run(std::span<char*> arguments) {
    base::result<> done;
    if (arguments.size() == 2 && std::string_view{arguments[0]} == "--import") {
        done = import(arguments[1]);
    } else if (arguments.size() == 1 && !std::string_view{arguments[0]}.starts_with('-')) {
        done = generate(arguments[0]);
    } else {
        fmt::print(stderr, "{}", usage);
        return 2;
    }
    if (done) return 0;
    fmt::print(stderr, "crdgen: {}\n", done.error().message);
    return 1;
}

}  // namespace
}  // namespace cotrain::crdgen

int main(int count, char** arguments) {
    try {
        return cotrain::crdgen::run(std::span(arguments, static_cast<std::size_t>(count)).subspan(1));
    } catch (const std::logic_error& mistake) {  // of a type's description: a rule that nobody knows
        std::fputs(mistake.what(), stderr);
        std::fputc('\n', stderr);
        return 1;
    }
}
