// The four commands of docs/field-ownership.md, as a reader would type them.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "integration/control.hpp"
#include "integration/operator_scene.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::test {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

// The first block that is fenced as `language`.
std::string block(const std::string& page, const std::string& language) {
    const std::size_t begin = page.find("```" + language + "\n");
    const std::size_t from = begin + 4 + language.size();
    return begin == std::string::npos ? std::string() : page.substr(from, page.find("\n```", from) - from);
}

TEST(operator_docs, the_commands_of_the_page_on_field_ownership_show_what_it_says) {
    operator_scene scene("operator-docs");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        const std::string page = read_file(fs::path(COTRAIN_SOURCE_DIR) / "docs" / "field-ownership.md");
        const temp_dir place;
        place.write("job.yaml", block(page, "yaml"));
        doc::arena memory;
        const std::string known = read_file(test_variable("COTRAIN_TEST_KUBECONFIG"));
        doc::editor config = doc::editor::of(memory, *doc::parse_yaml(memory, known));
        config.child("contexts").child(std::size_t{0}).child("context").set("namespace", s.ns);
        place.write("config", doc::to_json(config));

        EXPECT_TRUE(co_await s.start_operator());
        const std::string kubectl = fs::path(test_variable("COTRAIN_TEST_KUBECTL")).parent_path().string();
        std::istringstream lines(block(page, "console"));
        int commands = 0;
        for (std::string line; std::getline(lines, line);) {
            if (!line.starts_with("$ ")) continue;
            ++commands;
            const std::string all = "cd " + place.path() + " && export KUBECONFIG=config PATH=" + kubectl +
                                    ":$PATH && " + line.substr(2) + " >> said 2>&1";
            const int code = std::system(all.c_str());
            EXPECT_EQ(WEXITSTATUS(code), 0) << line << "\n" << place.read("said");
        }
        EXPECT_EQ(commands, 4);
        const auto set = co_await s.api->get(kinds::job_set, {.ns = s.ns, .name = "first"});
        EXPECT_TRUE(set.has_value() && set->body.contains(R"("team":"a")"));
    });
}

}  // namespace
}  // namespace cotrain::test
