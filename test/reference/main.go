// Compares plans: random TrainJobs and runtimes go through the packages of the controller that ours replaces, and through
// `cotrain render`. Verdicts and objects must be the same. The generator keeps clear of docs/differences.md.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"
	testingutil "github.com/kubeflow/trainer/v2/pkg/util/testing"
	ctrl "sigs.k8s.io/controller-runtime"
)

// What was made of a pair: the fields that admission blames, else the objects.
type outcome struct {
	refused []string
	objects []object
}

func there(p pair) (outcome, error) {
	var rt trainer.TrainingRuntime
	var job trainer.TrainJob
	if err := errorsOf(json.Unmarshal(encode(p.runtime), &rt), json.Unmarshal(encode(p.job), &job)); err != nil {
		return outcome{}, err
	}
	ctx := context.Background()
	builder := testingutil.NewClientBuilder().WithObjects(&rt)
	plans, err := core.NewTrainingRuntime(ctx, builder.Build(), testingutil.AsIndex(builder), nil)
	if err != nil {
		return outcome{}, err
	}
	var out outcome
	_, faults := plans.ValidateObjects(ctx, nil, job.DeepCopy())
	for _, f := range faults {
		out.refused = append(out.refused, f.Field)
	}
	if len(out.refused) > 0 {
		return out, nil
	}
	made, err := plans.NewObjects(ctx, job.DeepCopy())
	for _, m := range made {
		out.objects = append(out.objects, decode(encode(m)))
	}
	return out, err
}

var blamed = regexp.MustCompile(`(spec\.[\w.\[\]/-]+): (?:Invalid|Forbidden|Required)`)

func here(program string, p pair) (outcome, error) {
	render := exec.Command(program, "render", "-f", "-", "-o", "json")
	render.Stdin = bytes.NewReader(slices.Concat(encode(p.runtime), []byte("\n---\n"), encode(p.job)))
	var said bytes.Buffer
	render.Stderr = &said
	text, err := render.Output()
	if render.ProcessState != nil && render.ProcessState.ExitCode() == 1 {
		var out outcome
		for _, found := range blamed.FindAllStringSubmatch(said.String(), -1) {
			out.refused = append(out.refused, found[1])
		}
		return out, nil
	}
	if err != nil {
		return outcome{}, fmt.Errorf("%w: %s", err, said.String())
	}
	var out outcome
	for in := json.NewDecoder(bytes.NewReader(text)); in.More(); {
		var o object
		if err := in.Decode(&o); err != nil {
			return out, err
		}
		if items, is := o["items"].([]any); is {
			for _, item := range items {
				out.objects = append(out.objects, item.(map[string]any))
			}
			continue
		}
		out.objects = append(out.objects, o)
	}
	return out, nil
}

// Empty if both make the same of the pair.
func judge(program string, p pair) string {
	theirs, err := there(p)
	if err != nil {
		return "the reference fails: " + err.Error()
	}
	ours, err := here(program, p)
	if err != nil {
		return "ours fails: " + err.Error()
	}
	slices.Sort(theirs.refused)
	slices.Sort(ours.refused)
	if !slices.Equal(theirs.refused, ours.refused) {
		return fmt.Sprintf("refused there: %v, here: %v", theirs.refused, ours.refused)
	}
	return difference("", known(theirs.objects), known(ours.objects))
}

func main() {
	pairs := flag.Int("pairs", 1000, "how many pairs")
	seed := flag.Int64("seed", 1, "of the first pair; each has its own")
	program := flag.String("cotrain", "", "the program")
	keep := flag.String("keep", ".", "folder for pairs that differ")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	var all sync.WaitGroup
	var mutex sync.Mutex
	var different int
	next := make(chan int64)
	for range runtime.NumCPU() {
		all.Go(func() {
			for number := range next {
				p := generate(rand.New(rand.NewSource(number)))
				what := judge(*program, p)
				mutex.Lock()
				if what != "" {
					different++
					file := filepath.Join(*keep, fmt.Sprintf("pair-%d.yaml", number))
					log.Printf("seed %d (%s): %s", number, file, what)
					text := slices.Concat(encode(p.runtime), []byte("\n---\n"), encode(p.job), []byte("\n"))
					if err := os.WriteFile(file, text, 0o644); err != nil {
						log.Print(err)
					}
				}
				mutex.Unlock()
			}
		})
	}
	for i := range int64(*pairs) {
		next <- *seed + i
	}
	close(next)
	all.Wait()
	fmt.Printf("%d pairs, %d differ\n", *pairs, different)
	if different > 0 {
		os.Exit(1)
	}
}
