// Command mutator is a mutating webhook of somebody else: it marks each object that it sees with the operation, and gives
// the Pods of new JobSets a toleration.
//
//	mutator ADDRESS CERTIFICATE KEY
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
)

type object struct {
	Metadata struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		ReplicatedJobs []struct {
			Template struct {
				Spec struct {
					Template struct {
						Spec struct {
							Tolerations []json.RawMessage `json:"tolerations"`
						} `json:"spec"`
					} `json:"template"`
				} `json:"spec"`
			} `json:"template"`
		} `json:"replicatedJobs"`
	} `json:"spec"`
}

type review struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Request    *struct {
		UID       string `json:"uid"`
		Operation string `json:"operation"`
		Object    object `json:"object"`
	} `json:"request,omitempty"`
	Response *answer `json:"response,omitempty"`
}

type answer struct {
	UID       string `json:"uid"`
	Allowed   bool   `json:"allowed"`
	PatchType string `json:"patchType,omitempty"`
	Patch     []byte `json:"patch,omitempty"`
}

type change struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func changes(to object, operation string) []change {
	const key = "test.example/policy"
	var out []change
	if to.Metadata.Annotations == nil {
		out = append(out, change{"add", "/metadata/annotations", map[string]string{}})
	}
	out = append(out, change{"add", "/metadata/annotations/" + strings.ReplaceAll(key, "/", "~1"), operation})
	for i, job := range to.Spec.ReplicatedJobs {
		if operation == "CREATE" && len(job.Template.Spec.Template.Spec.Tolerations) == 0 {
			path := fmt.Sprintf("/spec/replicatedJobs/%d/template/spec/template/spec/tolerations", i)
			out = append(out, change{"add", path, []map[string]string{{"key": "test.example/policy", "operator": "Exists"}}})
		}
	}
	return out
}

func serve(w http.ResponseWriter, r *http.Request) {
	var in review
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Request == nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	patch, err := json.Marshal(changes(in.Request.Object, in.Request.Operation))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	in.Response = &answer{UID: in.Request.UID, Allowed: true, PatchType: "JSONPatch", Patch: patch}
	in.Request = nil
	if err := json.NewEncoder(w).Encode(in); err != nil {
		log.Print(err)
	}
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: mutator ADDRESS CERTIFICATE KEY")
	}
	log.Fatal(http.ListenAndServeTLS(os.Args[1], os.Args[2], os.Args[3], http.HandlerFunc(serve)))
}
