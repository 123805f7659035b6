// Renders TrainJobs from files alone, one after the other, and writes them as they come.
#include "app/render.hpp"

#include <unistd.h>

#include <string_view>

#include "api/json.hpp"
#include "api/yaml.hpp"
#include "app/manifests.hpp"
#include "app/planner.hpp"
#include "app/progress_bar.hpp"
#include "app/summary.hpp"

namespace cotrain::app {
namespace {

constexpr std::string_view render_help =
    "usage: cotrain render -f FILE|FOLDER|- … [--observed FILE]… [-n NAMESPACE] [-o yaml|json|summary]\n\n"
    "Prints what the operator would apply for each TrainJob, in order, from files alone. Verdicts go to standard\n"
    "error. --observed: objects as they are in the cluster (kubectl get … -o yaml): what exists already, and the\n"
    "TrainJob's UID for owner references, which are left out where it is not known. SSH and CURVE keys are real and\n"
    "new each time.\n"
    "Exit codes: 0 done, 1 something was refused, 2 used wrongly or unreadable input.\n";
constexpr std::string_view validate_help =
    "usage: cotrain validate -f FILE|FOLDER|- … [--observed FILE]… [-n NAMESPACE]\n\n"
    "Says what the API server and the operator's admission would refuse or warn of, from files alone.\n"
    "Exit codes: 0 all accepted, 1 something was refused, 2 used wrongly or unreadable input.\n";

void write(std::FILE* to, std::string_view text) { std::fwrite(text.data(), 1, text.size(), to); }

class printer {
   public:
    printer(std::FILE* out, render_format format) : out_(out), format_(format) {
        if (format_ == render_format::json) write(out_, R"({"apiVersion":"v1","kind":"List","items":[)");
    }
    void print(api::arena& memory, const job_plan& plan) {
        if (format_ == render_format::none) return;
        if (format_ == render_format::summary) {
            write(out_, (count_++ == 0 ? "" : "\n") + summarise(memory, plan));
            return;
        }
        for (const auto& object : plan.objects) {
            const bool first = count_++ == 0;
            if (format_ == render_format::json) {
                write(out_, first ? "\n" : ",\n");
                write(out_, object.json);
            } else if (const auto document = api::parse_json_copy(memory, object.json)) {
                if (!first) write(out_, "---\n");
                write(out_, api::to_yaml(*document));
            }
        }
    }
    void finish() {
        if (format_ == render_format::json) write(out_, count_ == 0 ? "]}\n" : "\n]}\n");
    }

   private:
    std::FILE* out_;
    render_format format_;
    std::size_t count_ = 0;
};

// As kubectl words it, with the place in front.
void report(std::FILE* err, const manifest& m, const opinion& verdict) {
    for (const auto& text : verdict.warnings) write(err, "Warning: " + m.where + ": " + text + "\n");
    if (verdict.accepted()) return;
    std::string out = "error: " + m.where + ": The " + std::string(m.document.get("kind").as_string()) + " \"" +
                      std::string(m.document.get({"metadata", "name"}).as_string()) + "\" is invalid:";
    if (verdict.errors.size() == 1) {
        write(err, out.append(" ").append(verdict.errors.front()).append("\n"));
        return;
    }
    for (const auto& text : verdict.errors) out.append("\n* ").append(text);
    write(err, out.append("\n"));
}

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

int render(const render_options& options, const streams& io) {
    manifests observed;
    manifests given;
    for (const auto& path : options.observed)
        if (auto read = observed.add_path(path, io.in); !read) return unreadable(io.err, read.error().message);
    for (const auto& path : options.files)
        if (auto read = given.add_path(path, io.in); !read) return unreadable(io.err, read.error().message);
    planner plans(options.ns, options.ns_given);
    plans.observe(observed.list());
    plans.take(given.list());
    for (const auto& remark : plans.remarks()) write(io.err, "Warning: " + remark + "\n");
    if (const std::size_t more = plans.remarks_made() - plans.remarks().size(); more != 0)
        write(io.err, "Warning: and " + std::to_string(more) + " more objects like these\n");
    if (plans.jobs().empty() && plans.runtimes().empty())
        return unreadable(io.err, "no TrainJob and no runtime among the files");

    progress_bar bar(io.err, plans.runtimes().size() + plans.jobs().size(), io.progress);
    const auto tell = [&](const manifest& m, const opinion& verdict) {
        if (!verdict.errors.empty() || !verdict.warnings.empty()) bar.hide();
        report(io.err, m, verdict);
        bar.step();
        return verdict.accepted();
    };
    bool refused = false;
    for (const manifest& m : plans.runtimes()) refused = !tell(m, plans.judge_runtime(m.document)) || refused;
    if (plans.jobs().empty() && options.format != render_format::none)
        write(io.err, "Warning: no TrainJob among the files: nothing to render\n");
    printer out(io.out, options.format);
    api::arena memory(api::plan_bytes_max);
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
        } else {
            refused = true;
        }
    }
    bar.hide();
    out.finish();
    if (keys) write(io.err, "note: keys in Secrets were made for this output; each render makes others\n");
    if (std::fflush(io.out) != 0 || std::ferror(io.out) != 0)
        return unreadable(io.err, "standard output: cannot be written to");
    return refused ? 1 : 0;
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
    return render(*options, {.progress = quiet && isatty(STDERR_FILENO) == 1});
}

int run_render(arguments words) { return run(words, false); }
int run_validate(arguments words) { return run(words, true); }

}  // namespace cotrain::app
