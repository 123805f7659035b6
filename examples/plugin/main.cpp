// Renders a TrainJob with the built-in plugins and one of our own: spot_render FILE.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "doc/decode.hpp"
#include "doc/yaml.hpp"
#include "plugins/builtin.hpp"
#include "plugins/keys.hpp"
#include "runtime/normalise.hpp"
#include "spot.hpp"

namespace {

using namespace cotrain;

// Ours among the built-in plugins: before the JobSet, so that its Pods find everything in place.
using framework = plugins::builtin_with<example::spot>;

int refuse(const std::string& why) {
    std::fprintf(stderr, "error: %s\n", why.c_str());
    return 1;
}

// The TrainJob and the runtime among the documents of a text.
int render(const std::string& text) {
    doc::arena memory;
    const auto documents = doc::parse_yaml_stream(memory, text);
    if (!documents) return refuse(documents.error().message);
    doc::ref job_document;
    doc::ref runtime_document;
    for (const auto& d : *documents) {
        const bool is_job = d.value.get("kind").as_string() == api::names::train_job_kind;
        (is_job ? job_document : runtime_document) = runtime::with_defaults(memory, d.value);
    }
    const auto job = api::decode_train_job(job_document);
    if (!job) return refuse(job.error().message);
    const auto compiled = runtime::compiled_runtime::compile(runtime_document);
    if (!compiled) return refuse(compiled.error().message);

    const framework plugins;
    const auto verdict = plugins.validate_objects(memory, {.job = *job}, **compiled);
    if (!verdict.accepted()) return refuse(verdict.message());
    runtime::observed nothing;
    nothing.make_ssh_key = [] { return plugins::make_ssh_key(plugins::system_bytes()); };
    const auto objects = plugins.new_objects(memory, *job, **compiled, nothing);
    if (!objects) return refuse(objects.error().message);
    for (const auto& object : *objects) {
        const auto document = doc::parse_yaml(memory, object.json);
        if (!document) return refuse(document.error().message);
        std::printf("---\n%s", doc::to_yaml(*document).c_str());
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return refuse("usage: spot_render FILE"), 2;
    std::ifstream in(argv[1], std::ios::binary);
    if (!in) return refuse(std::string(argv[1]) + ": cannot be read"), 2;
    return render({std::istreambuf_iterator<char>(in), {}});
}
