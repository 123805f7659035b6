// What the pages of docs/ show is run and compared, so that it stays true.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "doc/decode.hpp"
#include "doc/yaml.hpp"
#include "docs/page.hpp"
#include "plugins/builtin.hpp"
#include "runtime/normalise.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::test {
namespace {

namespace fs = std::filesystem;

const fs::path& repository() {
    static const fs::path path(COTRAIN_SOURCE_DIR);
    return path;
}

// Pages that must show something; others are run if they do.
constexpr std::array pages_required{"trainjob.md", "merge-policy.md", "info.md",
                                    "plugins.md",  "conditions.md",   "gang-scheduling.md"};

// A directory as the repository's: with deploy/ and examples/, and the files that a page makes.
class workplace {
   public:
    workplace() {
        for (const char* folder : {"deploy", "examples"})
            fs::create_directory_symlink(repository() / folder, path_ / folder);
    }

    void put(const std::string& name, const std::vector<std::string>& text) const {
        std::ofstream(path_ / name, std::ios::binary) << join(text);
    }
    [[nodiscard]] const fs::path& path() const { return path_; }

    // Both streams as they come, as on a terminal; the exit code is $? of the next command.
    std::vector<std::string> run(const std::string& command) {
        const std::string script =
            "exec 2>&1\ncd '" + path_.string() + "'\nPATH='" + fs::path(COTRAIN_BINARY).parent_path().string() +
            "':$PATH\nexport LC_ALL=C.UTF-8\n(exit " + std::to_string(code_) + ")\n" + command + "\n";
        std::FILE* const pipe = popen(script.c_str(), "r");
        if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
        std::string output;
        std::array<char, 4096> part{};
        for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) output.append(part.data(), n);
        const int status = pclose(pipe);
        code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
        std::vector<std::string> lines;
        std::istringstream in(output);
        for (std::string line; std::getline(in, line);) lines.push_back(line);
        return lines;
    }

   private:
    temp_dir place_;
    fs::path path_ = place_.path();
    int code_ = 0;
};

constexpr std::string_view gap = "…";

bool is_gap(const std::string& line) {
    const auto at = line.find_first_not_of(' ');
    return at != std::string::npos && line.substr(at) == gap;
}

// Whether a line is what is shown of it, a gap standing for any text.
bool line_agrees(std::string_view shown, std::string_view actual) {
    const auto at = shown.find(gap);
    if (at == std::string_view::npos) return shown == actual;
    if (!actual.starts_with(shown.substr(0, at))) return false;
    for (std::size_t skipped = at; skipped <= actual.size(); ++skipped)
        if (line_agrees(shown.substr(at + gap.size()), actual.substr(skipped))) return true;
    return false;
}

// Whether `actual` is what `shown` says, a line that is a gap standing for any lines.
bool agrees(std::span<const std::string> shown, std::span<const std::string> actual) {
    if (shown.empty()) return actual.empty();
    if (is_gap(shown.front())) {
        for (std::size_t skipped = 0; skipped <= actual.size(); ++skipped)
            if (agrees(shown.subspan(1), actual.subspan(skipped))) return true;
        return false;
    }
    return !actual.empty() && line_agrees(shown.front(), actual.front()) && agrees(shown.subspan(1), actual.subspan(1));
}

void run_block(const page& p, const block& b, workplace& where) {
    const auto is_command = [](const std::string& line) { return line.starts_with("$ "); };
    ASSERT_TRUE(!b.text.empty() && is_command(b.text.front())) << p.place(b) << ": starts with no \"$ command\"";
    for (auto at = b.text.begin(); at != b.text.end();) {
        const std::string command = at->substr(2);
        const auto end = std::find_if(at + 1, b.text.end(), is_command);
        const std::vector<std::string> shown(at + 1, end);
        const auto actual = where.run(command);
        EXPECT_TRUE(agrees(shown, actual)) << p.place(b) << ": $ " << command << "\nshown:\n"
                                           << join(shown) << "it says:\n"
                                           << join(actual);
        at = end;
    }
}

doc::ref read_yaml(doc::arena& memory, const std::string& text) {
    const auto document = doc::parse_yaml(memory, memory.copy(text));
    if (!document) throw std::runtime_error(document.error().message);
    return *document;
}

// The operator's own fold of a TrainJob and its JobSet at a time.
void check_status(const page& p, const block& b, const workplace& where) {
    std::istringstream words(b.argument);
    std::string job_file;
    std::string set_file;
    std::string at;
    words >> job_file >> set_file >> at;
    doc::arena memory;
    const doc::ref document = runtime::with_defaults(memory, read_yaml(memory, read_text(where.path() / job_file)));
    const auto job = api::decode_train_job(document);
    ASSERT_TRUE(job) << p.place(b) << ": " << job.error().message;
    base::result<api::job_set> set;
    if (set_file != "-") set = api::decode_job_set(read_yaml(memory, read_text(where.path() / set_file)));
    ASSERT_TRUE(set) << p.place(b) << ": " << set.error().message;
    const auto now = base::parse_time(at);
    ASSERT_TRUE(now) << p.place(b) << ": no time: " << at;
    const auto outcome =
        plugins::builtin().trainjob_status({.job = *job,
                                            .job_set = set_file == "-" ? nullptr : &*set,
                                            .runtime_supported = runtime::runtime_supported(job->spec.runtime),
                                            .now = *now});
    const doc::ref shown = read_yaml(memory, join(b.text)).get("status");
    const doc::ref actual = api::encode_status(memory, outcome.status);
    EXPECT_TRUE(doc::equal(shown, actual)) << p.place(b) << ": it is\n" << doc::to_yaml(actual);
}

void check_source(const page& p, const block& b) {
    EXPECT_TRUE(read_text(repository() / b.argument).contains(join(b.text))) << p.place(b) << ": not in " << b.argument;
}

void check_page(const page& p) {
    workplace where;
    for (const auto& b : p.blocks) {
        const bool shows = b.language == "yaml" || b.language == "console" || b.language == "sh" || b.language == "cpp";
        if (b.mark == "file") {
            where.put(b.argument, b.text);
        } else if (b.mark == "run") {
            run_block(p, b, where);
        } else if (b.mark == "status") {
            check_status(p, b, where);
        } else if (b.mark == "from") {
            check_source(p, b);
        } else if (b.mark == "not run") {
            EXPECT_FALSE(b.argument.empty()) << p.place(b) << ": say why it is not run";
        } else {
            EXPECT_FALSE(shows) << p.place(b) << ": nobody checks this block; mark it (test/docs/page.hpp)";
        }
    }
}

TEST(docs, pages_show_what_the_program_does) {
    std::vector<std::string> checked;
    for (const auto& entry : fs::directory_iterator(repository() / "docs")) {
        if (entry.path().extension() != ".md") continue;
        const page p = read_page(entry.path());
        if (!p.takes_part()) continue;
        checked.push_back(entry.path().filename().string());
        check_page(p);
    }
    for (const std::string required : pages_required) EXPECT_TRUE(std::ranges::contains(checked, required)) << required;
}

TEST(docs, a_gap_stands_for_anything_and_nothing_else_does) {
    const std::vector<std::string> actual{"a", "b", "c"};
    const auto shows = [&](std::vector<std::string> shown) { return agrees(shown, actual); };
    EXPECT_TRUE(shows({"a", "b", "c"}));
    EXPECT_TRUE(shows({"…", "c"}));
    EXPECT_TRUE(shows({"a", "  …"}));
    EXPECT_TRUE(shows({"a", "…", "b", "c"}));
    EXPECT_FALSE(shows({"a", "c"}));
    EXPECT_FALSE(shows({"a", "b"}));
    EXPECT_FALSE(shows({"…", "b"}));
    EXPECT_TRUE(line_agrees("JobSet a (… bytes)", "JobSet a (12 bytes)"));
    EXPECT_FALSE(line_agrees("JobSet a (… bytes)", "JobSet b (12 bytes)"));
    EXPECT_FALSE(line_agrees("JobSet a (…", "JobSet"));
}

}  // namespace
}  // namespace cotrain::test
