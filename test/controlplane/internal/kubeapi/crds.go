// Custom resource definitions: read from files, applied, and awaited until lists of their objects are answered.
package kubeapi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// CRD is the part of a definition that is needed to install it and to see that it works.
type CRD struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Plural string `json:"plural"`
		} `json:"names"`
		Versions []struct {
			Name   string `json:"name"`
			Served bool   `json:"served"`
		} `json:"versions"`
	} `json:"spec"`
	text []byte
}

var documentEnd = regexp.MustCompile(`(?m)^---.*$`)

// Documents splits a YAML file into its documents, leaving out those without content.
func Documents(file string) ([][]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var documents [][]byte
	for _, document := range documentEnd.Split(string(text), -1) {
		var content any
		if err := yaml.Unmarshal([]byte(document), &content); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if content != nil {
			documents = append(documents, []byte(document))
		}
	}
	return documents, nil
}

// ReadCRDs reads a file, which must contain nothing else, or the .yaml files of a directory, whose other objects
// are left alone. No definition at all is an error.
func ReadCRDs(path string) ([]CRD, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	files := []string{path}
	if info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*.y*ml")); err != nil {
			return nil, err
		}
		sort.Strings(files)
	}
	var crds []CRD
	for _, file := range files {
		documents, err := Documents(file)
		if err != nil {
			return nil, err
		}
		for _, document := range documents {
			crd := CRD{text: document}
			if err := yaml.Unmarshal(document, &crd); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			switch {
			case crd.Kind == "CustomResourceDefinition" && crd.Metadata.Name != "":
				crds = append(crds, crd)
			case !info.IsDir():
				return nil, fmt.Errorf("%s: contains a %q; only CustomResourceDefinitions can be installed", file, crd.Kind)
			}
		}
	}
	if len(crds) == 0 {
		return nil, fmt.Errorf("%s: no CustomResourceDefinition in it", path)
	}
	return crds, nil
}

// InstallCRDs applies all at once and returns when lists of every served version are answered: an established
// definition says 404 or 429 for a moment still.
func (c *Client) InstallCRDs(ctx context.Context, crds []CRD) error {
	failures := make([]error, len(crds))
	var all sync.WaitGroup
	for i := range crds {
		all.Add(1)
		go func() {
			defer all.Done()
			failures[i] = c.installCRD(ctx, &crds[i])
		}()
	}
	all.Wait()
	return errors.Join(failures...)
}

func (c *Client) installCRD(ctx context.Context, crd *CRD) error {
	path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + crd.Metadata.Name
	if err := c.Apply(ctx, path, crd.text); err != nil {
		return err
	}
	return Until(ctx, "CRD "+crd.Metadata.Name, func(ctx context.Context) error {
		if err := c.established(ctx, path); err != nil {
			return err
		}
		for _, version := range crd.Spec.Versions {
			if !version.Served {
				continue
			}
			list := strings.Join([]string{"/apis", crd.Spec.Group, version.Name, crd.Spec.Names.Plural}, "/")
			if err := c.Get(ctx, list+"?limit=1", nil); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *Client) established(ctx context.Context, path string) error {
	var crd struct {
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := c.Get(ctx, path, &crd); err != nil {
		return err
	}
	why := "not established"
	for _, condition := range crd.Status.Conditions {
		if condition.Type == "Established" && condition.Status == "True" {
			return nil
		}
		if condition.Status == "False" {
			why = condition.Message
		}
	}
	return errors.New(why)
}
