// Completion scripts, and what is said of words that are not known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

#include "app/command.hpp"
#include "app/nearest.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::app {
namespace {

using testing::HasSubstr;

int nothing(arguments) { return 0; }
constexpr std::array commands{
    command{"doctor", "look at the cluster's health", nothing, doctor_words},
    command{"render", "print objects", nothing, render_words},
    command{"demo", "show", nothing},
};

std::string script_for(std::string_view shell) {
    const std::array<std::string_view, 1> words{shell};
    testing::internal::CaptureStdout();
    EXPECT_EQ(complete(commands, words), 0);
    return testing::internal::GetCapturedStdout();
}

// What bash would offer at the end of that line.
std::string offered(const std::string& line) {
    const test::temp_dir dir;
    dir.write("completion.bash", script_for("bash"));
    const std::string shell = "bash -c '. " + dir.path("completion.bash") + "; COMP_WORDS=(" + line +
                              "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _cotrain; echo ${COMPREPLY[@]}'";
    std::FILE* const pipe = ::popen(shell.c_str(), "r");
    std::array<char, 4096> text{};
    const std::size_t n = std::fread(text.data(), 1, text.size(), pipe);
    EXPECT_EQ(::pclose(pipe), 0) << line;
    return {text.data(), n == 0 ? 0 : n - 1};
}

TEST(completion, offers_commands_options_and_values) {
    EXPECT_EQ(offered("cotrain re"), "render");
    EXPECT_EQ(offered("cotrain \"\""), "doctor render demo help version");
    EXPECT_EQ(offered("cotrain help d"), "doctor demo");
    EXPECT_EQ(offered("cotrain render --ob"), "--observed");
    EXPECT_EQ(offered("cotrain render -o s"), "summary");
    EXPECT_EQ(offered("cotrain render --field-validation \"\""), "strict warn ignore");
    EXPECT_EQ(offered("cotrain doctor -o \"\""), "text json");
    EXPECT_EQ(offered("cotrain demo --"), "--help");
    EXPECT_EQ(offered("cotrain render fi"), "") << "files are the shell's";
}

// All that a table has is in each script.
TEST(completion, has_every_option_for_every_shell) {
    const std::string zsh = script_for("zsh");
    const std::string fish = script_for("fish");
    const std::string bash = script_for("bash");
    for (const option_word& word : render_words()) {
        EXPECT_THAT(bash, HasSubstr(word.name));
        EXPECT_THAT(zsh, HasSubstr("'*" + word.name + (word.takes_value ? ":value:" : "'")));
        const bool is_long = word.name.starts_with("--");
        EXPECT_THAT(
            fish, HasSubstr("from render' -" + std::string(is_long ? "l " : "s ") + word.name.substr(is_long ? 2 : 1)));
    }
    EXPECT_THAT(zsh, HasSubstr("'doctor:look at the cluster'\\''s health'")) << "quotes are kept";
    EXPECT_EQ(complete(commands, {}), 2);
    EXPECT_EQ(complete(commands, std::array<std::string_view, 1>{"csh"}), 2);
}

TEST(command_line, says_what_may_have_been_meant) {
    use_suggester(did_you_mean);
    const auto said = [](std::vector<std::string_view> words) {
        testing::internal::CaptureStderr();
        EXPECT_EQ(run_command_line(commands, std::move(words)), 2);
        return testing::internal::GetCapturedStderr();
    };
    EXPECT_EQ(said({"docter"}), "cotrain: no command 'docter'; did you mean \"doctor\"?; 'cotrain help' lists them\n");
    EXPECT_EQ(said({"help", "rendr"}),
              "cotrain: no command 'rendr'; did you mean \"render\"?; 'cotrain help' lists them\n");
    EXPECT_EQ(said({"xyzzy"}), "cotrain: no command 'xyzzy'; 'cotrain help' lists them\n");
    use_suggester(nullptr);
    EXPECT_EQ(said({"docter"}), "cotrain: no command 'docter'; 'cotrain help' lists them\n") << "the image's program";
    EXPECT_EQ(run_command_line(commands, {"help", "doctor"}), 0);
}

}  // namespace
}  // namespace cotrain::app
