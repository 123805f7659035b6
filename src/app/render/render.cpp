#include "app/render/render.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/validation.hpp"
#include "app/explain/layers.hpp"
#include "app/explain/print.hpp"
#include "app/render/manifests.hpp"
#include "app/render/planner.hpp"
#include "app/terminal.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"

namespace cotrain::app {

namespace {

constexpr std::size_t cells = 30;
constexpr std::size_t steps_a_drawing = 100;
constexpr std::string_view formats = "yaml json summary explain";

std::optional<render_format> format_named(std::string_view name) {
    if (name == "yaml") return render_format::yaml;
    if (name == "json") return render_format::json;
    if (name == "summary") return render_format::summary;
    if (name == "explain") return render_format::explain;
    return std::nullopt;
}

base::result<> set_namespace(render_options& out, std::string_view value) {
    if (const auto faults = api::check_dns1123_label(value); !faults.empty())
        return base::fail(base::errc::invalid, "'" + std::string(value) + "' " + api::join(faults));
    out.ns = value;
    out.ns_given = true;
    return {};
}

base::result<> set_format(render_options& out, std::string_view value) {
    const auto format = format_named(value);
    if (!format)
        return base::fail(base::errc::invalid,
                          "takes yaml, json, summary or explain, not '" + std::string(value) + "'");
    out.format = *format;
    return {};
}

base::result<> set_fields(render_options& out, std::string_view value) {
    if (value == "strict") {
        out.fields = field_validation::strict;
    } else if (value == "warn") {
        out.fields = field_validation::warn;
    } else if (value == "ignore") {
        out.fields = field_validation::ignore;
    } else {
        return base::fail(base::errc::invalid, "takes strict, warn or ignore, not '" + std::string(value) + "'");
    }
    return {};
}

std::vector<option> render_table(render_options& out, bool verdicts_only) {
    const auto add_to = [](std::vector<std::string>& files) {
        return [&files](std::string_view value) -> base::result<> {
            if (value.empty()) return base::fail(base::errc::invalid, "needs a value");
            files.emplace_back(value);
            return {};
        };
    };
    const auto ns = [&out](std::string_view value) { return set_namespace(out, value); };
    const auto format = [&out](std::string_view value) { return set_format(out, value); };
    std::vector<option> known{{"-f", add_to(out.files)},
                              {"--filename", add_to(out.files)},
                              {"--observed", add_to(out.observed)},
                              {"-n", ns},
                              {"--namespace", ns},
                              text_option("--config", out.config_file),
                              {"--field-validation",
                               [&out](std::string_view value) { return set_fields(out, value); },
                               {},
                               "strict warn ignore"}};
    if (!verdicts_only) known.insert(known.end(), {{"-o", format, {}, formats}, {"--output", format, {}, formats}});
    return known;
}

constexpr std::string_view render_help =
    "usage: cotrain render -f FILE|FOLDER|- … [options]\n\n"
    "Prints what the operator would apply for each TrainJob, in order, from files alone. Findings go to standard\n"
    "error, each with the line of the field. SSH and CURVE keys are real and new each time.\n\n"
    "  -f, --filename FILE         a file, a folder's *.yaml, *.yml and *.json, or - for standard input\n"
    "  --observed FILE             objects as they are in the cluster (kubectl get … -o yaml): what exists\n"
    "                              already, and the TrainJob's UID for owner references, which are left out\n"
    "                              where it is not known\n"
    "  -n, --namespace NAME        of objects that name none\n"
    "  --config FILE               the operator's, for its feature gates and plugins\n"
    "  -o, --output FORMAT         yaml, json, summary, or explain: each field with the layer that set it\n"
    "  --field-validation HOW      unknown fields: strict, warn (default) or ignore\n\n"
    "Exit codes: 0 done, 1 something was refused, 2 used wrongly or unreadable input.\n";
constexpr std::string_view validate_help =
    "usage: cotrain validate -f FILE|FOLDER|- … [options]\n\n"
    "Says what kubectl, the API server and the operator's admission would refuse or warn of, from files alone: a\n"
    "line for each finding, with the line of the field.\n\n"
    "  -f, --filename FILE         a file, a folder's *.yaml, *.yml and *.json, or - for standard input\n"
    "  --observed FILE             objects as they are in the cluster: what is given is judged as an update\n"
    "  -n, --namespace NAME        of objects that name none\n"
    "  --config FILE               the operator's, for its feature gates and plugins\n"
    "  --field-validation HOW      unknown fields: strict (default), warn or ignore\n\n"
    "Exit codes: 0 all accepted, 1 something was refused, 2 used wrongly or unreadable input.\n";

void write(std::FILE* to, std::string_view text) { std::fwrite(text.data(), 1, text.size(), to); }

class printer {
   public:
    printer(std::FILE* out, render_format format, runtime::plugin_options plugins)
        : out_(out), format_(format), plugins_(std::move(plugins)) {
        if (format_ == render_format::json) write(out_, R"({"apiVersion":"v1","kind":"List","items":[)");
    }
    void print(doc::arena& memory, const job_plan& plan) {
        if (format_ == render_format::none) return;
        if (format_ == render_format::summary) {
            write(out_, (count_++ == 0 ? "" : "\n") + summarise(memory, plan));
            return;
        }
        if (format_ == render_format::explain) return explain(memory, plan);
        for (const auto& object : plan.objects) {
            const bool first = count_++ == 0;
            if (format_ == render_format::json) {
                write(out_, first ? "\n" : ",\n");
                write(out_, object.json);
            } else if (const auto document = doc::parse_json_copy(memory, object.json)) {
                if (!first) write(out_, "---\n");
                write(out_, doc::to_yaml(*document));
            }
        }
    }
    void finish() {
        if (format_ == render_format::json) write(out_, count_ == 0 ? "]}\n" : "\n]}\n");
    }

   private:
    void explain(doc::arena& memory, const job_plan& plan) {
        const std::string name = plan.job.meta.ns.empty() ? std::string(plan.job.meta.name)
                                                          : fmt::format("{}/{}", plan.job.meta.ns, plan.job.meta.name);
        const auto made = explain_layers(memory, plan.job, *plan.runtime, plugins_);
        write(out_, fmt::format("{}# JobSet {}, made from {} {}\n{}", count_++ == 0 ? "" : "---\n", name,
                                plan.job.spec.runtime.kind, plan.job.spec.runtime.name,
                                made ? to_explained_yaml(made->job_set, made->layers)
                                     : "# it cannot be planned: " + made.error().message + "\n"));
    }

    std::FILE* out_;
    render_format format_;
    runtime::plugin_options plugins_;
    std::size_t count_ = 0;
};

// What becomes of the objects, a line for each finding, as kubectl words it, with its place in front.
class reporter {
   public:
    reporter(std::FILE* to, const manifests& from) : to_(to), from_(from) {}

    // Whether it was accepted.
    bool report(const manifest& m, const opinion& verdict) {
        const std::string object = "The " + base::one_line(m.document.get("kind").as_string(), name_bytes_max) + " \"" +
                                   base::one_line(m.document.get({"metadata", "name"}).as_string(), name_bytes_max) +
                                   "\" is invalid: ";
        return tell(m, verdict, object);
    }
    // There is no definition to judge it by.
    void report_misfit(const manifest& m, const opinion& verdict) { (void)tell(m, verdict, {}); }
    // "3 files, 5 documents: 2 with errors".
    [[nodiscard]] std::string summary() const {
        const std::size_t documents = from_.list().size();
        std::string out = fmt::format("{} file{}, {} document{}: ", from_.files(), from_.files() == 1 ? "" : "s",
                                      documents, documents == 1 ? "" : "s");
        out += refused_ == 0 ? "no errors" : fmt::format("{} with errors", refused_);
        if (warned_ != 0) out += fmt::format(", {} with warnings", warned_);
        return out + "\n";
    }
    [[nodiscard]] bool refused() const { return refused_ != 0; }

   private:
    static constexpr std::size_t name_bytes_max = 253;

    bool tell(const manifest& m, const opinion& verdict, const std::string& object) {
        for (const remark& each : verdict.warnings) say("Warning: ", m, each, {});
        for (const remark& each : verdict.errors) say("error: ", m, each, object);
        warned_ += verdict.warnings.empty() ? 0 : 1;
        refused_ += verdict.accepted() ? 0 : 1;
        return verdict.accepted();
    }
    void say(std::string_view how, const manifest& m, const remark& what, std::string_view object) {
        std::string line(how);
        line.append(finder_.place(m, what.path)).append(": ").append(object).append(what.text).append("\n");
        write(to_, line);
    }

    std::FILE* to_;
    const manifests& from_;
    field_finder finder_;
    std::size_t refused_ = 0;
    std::size_t warned_ = 0;
};

bool has_keys(const job_plan& plan) {
    for (const auto& object : plan.objects)
        if (object.type->kind == api::names::secret.kind) return true;
    return false;
}

int unreadable(std::FILE* err, const std::string& message) {
    write(err, "error: " + message + "\n");
    return 2;
}

}  // namespace

void progress_bar::step() {
    if (steps_ == 0) return;
    if (++done_ % steps_a_drawing != 0 || done_ >= steps_) return;
    const std::size_t full = done_ * cells / steps_;
    const std::string line = fmt::format("\r[{:#<{}}{:{}}] {}/{}", "", full, "", cells - full, done_, steps_);
    std::fwrite(line.data(), 1, line.size(), to_);
    std::fflush(to_);
    shown_ = true;
}

void progress_bar::hide() {
    if (!shown_) return;
    const std::string blank = fmt::format("\r{:{}}\r", "", cells + 24);  // two numbers of ten digits
    std::fwrite(blank.data(), 1, blank.size(), to_);
    std::fflush(to_);
    shown_ = false;
}

base::result<render_options> read_render_options(arguments words, bool verdicts_only) {
    render_options out;
    if (verdicts_only) {
        out.format = render_format::none;
        out.fields = field_validation::strict;
    }
    if (asks_for_help(words)) {
        out.help = true;
        return out;
    }
    const std::string command = verdicts_only ? "validate" : "render";
    if (auto read = read_options(words, render_table(out, verdicts_only)); !read)
        return base::fail(std::move(read.error()).during(command));
    if (out.files.empty())
        return base::fail(base::errc::invalid, command + ": nothing to read: give -f FILE, -f FOLDER or -f -");
    return out;
}

int render(const render_options& options, const streams& io) {
    const auto rules = read_plan_rules(options.config_file);
    if (!rules) return unreadable(io.err, rules.error().message);
    manifests observed;
    manifests given;
    for (const auto& path : options.observed)
        if (auto read = observed.add_path(path, io.in); !read) return unreadable(io.err, read.error().message);
    for (const auto& path : options.files)
        if (auto read = given.add_path(path, io.in); !read) return unreadable(io.err, read.error().message);
    for (const auto* read : {&observed, &given})
        for (const auto& warning : read->warnings()) write(io.err, "Warning: " + warning + "\n");
    planner plans(options.ns, options.ns_given, *rules, options.fields);
    plans.observe(observed.list());
    plans.take(given.list());
    for (const auto& text : plans.remarks()) write(io.err, "Warning: " + text + "\n");
    if (const std::size_t more = plans.remarks_made() - plans.remarks().size(); more != 0)
        write(io.err, "Warning: and " + std::to_string(more) + " more objects like these\n");
    reporter to(io.err, given);
    for (const auto& [what, verdict] : plans.misfits()) to.report_misfit(what, verdict);
    if (plans.jobs().empty() && plans.runtimes().empty() && plans.misfits().empty())
        return unreadable(io.err, "no TrainJob and no runtime among the files");

    progress_bar bar(io.err, plans.runtimes().size() + plans.jobs().size(), io.progress);
    const auto tell = [&](const manifest& m, const opinion& verdict) {
        if (!verdict.errors.empty() || !verdict.warnings.empty()) bar.hide();
        bar.step();
        return to.report(m, verdict);
    };
    for (const manifest& m : plans.runtimes()) (void)tell(m, plans.judge_runtime(m.document));
    if (plans.jobs().empty() && plans.misfits().empty() && options.format != render_format::none)
        write(io.err, "Warning: no TrainJob among the files: nothing to render\n");
    printer out(io.out, options.format, rules->plugins);
    doc::arena memory(doc::plan_bytes_max);
    bool keys = false;
    for (const manifest& m : plans.jobs()) {
        memory.clear();
        const job_plan plan = plans.plan(memory, m, options.format != render_format::none);
        keys = keys || has_keys(plan);
        if (tell(m, plan.verdict)) {
            if (!plan.idle.empty() && options.format != render_format::summary) {
                bar.hide();
                write(io.err, "note: " + m.where + ": nothing is applied for this TrainJob: " + plan.idle + "\n");
            }
            out.print(memory, plan);
        }
    }
    bar.hide();
    out.finish();
    if (options.format == render_format::none) write(io.out, to.summary());
    if (keys) write(io.err, "note: keys in Secrets were made for this output; each render makes others\n");
    if (std::fflush(io.out) != 0 || std::ferror(io.out) != 0)
        return unreadable(io.err, "standard output: cannot be written to");
    return to.refused() ? 1 : 0;
}

static int run(arguments words, bool verdicts_only) {
    const auto options = read_render_options(words, verdicts_only);
    if (!options) return used_wrongly(options.error().message);
    if (options->help) {
        write(stdout, verdicts_only ? validate_help : render_help);
        return 0;
    }
    // On a terminal the output tells how far it is; verdicts alone say nothing for long.
    const bool quiet = verdicts_only || isatty(STDOUT_FILENO) == 0;
    return render(*options, {.progress = quiet && terminal_at(STDERR_FILENO).live});
}

std::vector<option_word> render_words() {
    render_options none;
    return words_of(render_table(none, false));
}

std::vector<option_word> validate_words() {
    render_options none;
    return words_of(render_table(none, true));
}

int run_render(arguments words) { return run(words, false); }
int run_validate(arguments words) { return run(words, true); }

}  // namespace cotrain::app
