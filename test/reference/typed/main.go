// Command typed reads a TrainJob and writes it back as a client with the Go types of the Kubeflow Trainer does: what
// these types do not know is gone.
package main

import (
	"fmt"
	"io"
	"os"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/util/json"
)

func pass(in io.Reader, out io.Writer) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	var job trainer.TrainJob
	if err := json.Unmarshal(text, &job); err != nil {
		return err
	}
	if text, err = json.Marshal(job); err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

func main() {
	if err := pass(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "typed:", err)
		os.Exit(1)
	}
}
