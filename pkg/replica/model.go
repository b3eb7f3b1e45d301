package replica

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/model"
	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A models maps the rows of the caller to libovsdb's models of them under one schema.
type models struct {
	db     model.DatabaseModel
	tables map[string]*table
	schema string // as the server sent it
}

// A table has the columns of a row that the schema has, too.
type table struct {
	row     reflect.Type
	columns []string
}

// newModels makes a model for each row whose table the schema has.
func newModels(schema []byte, rows []ovsdb.Row) (*models, error) {
	m := &models{tables: map[string]*table{}, schema: string(schema)}
	var declared libovsdb.DatabaseSchema
	if err := json.Unmarshal(schema, &declared); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	types := map[string]model.Model{}
	for _, row := range rows {
		known := declared.Table(row.Table())
		if known == nil {
			continue
		}
		t := &table{row: reflect.TypeOf(row)}
		fields := []reflect.StructField{{Name: "UUID", Type: reflect.TypeFor[string](), Tag: `ovsdb:"_uuid"`}}
		for name, field := range ovsdb.Columns(reflect.ValueOf(row)) {
			column := known.Columns[name]
			if column == nil {
				continue
			}
			native := libovsdb.NativeType(column)
			if !converts(native, field.Type()) {
				continue // as unknown as a column that is not there
			}
			t.columns = append(t.columns, name)
			fields = append(fields, reflect.StructField{
				Name: fmt.Sprintf("C%d", len(t.columns)), Type: native, Tag: reflect.StructTag(fmt.Sprintf("ovsdb:%q", name)),
			})
		}
		types[row.Table()] = reflect.New(reflect.StructOf(fields)).Interface()
		m.tables[row.Table()] = t
	}
	client, err := model.NewClientDBModel(declared.Name, types)
	if err != nil {
		return nil, err
	}
	var errs []error
	if m.db, errs = model.NewDatabaseModel(declared, client); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return m, nil
}

// lookups asks for the columns of all models.
func (m *models) lookups() []ovsdb.Lookup {
	var all []ovsdb.Lookup
	for name, t := range m.tables {
		all = append(all, ovsdb.Lookup{Table: name, Columns: t.columns})
	}
	return all
}

// row returns the caller's row for a model.
func (m *models) row(name string, from model.Model) ovsdb.Row {
	t := m.tables[name]
	to := reflect.New(t.row).Elem()
	source := reflect.ValueOf(from).Elem()
	at := map[string]reflect.Value{"_uuid": source.Field(0)}
	for i, column := range t.columns {
		at[column] = source.Field(i + 1)
	}
	for column, field := range ovsdb.Columns(to) {
		if value, ok := at[column]; ok {
			convert(field, value)
		}
	}
	return to.Interface().(ovsdb.Row)
}

// converts reports whether values of a libovsdb type can become those of a row's field.
func converts(from, to reflect.Type) bool {
	if from.Kind() == reflect.Map || to.Kind() == reflect.Map {
		return from.Kind() == to.Kind() && from.Key().Kind() == to.Key().Kind() && from.Elem().Kind() == to.Elem().Kind()
	}
	return atom(from).Kind() == atom(to).Kind()
}

// atom returns the type of the elements of a set, or the type itself.
func atom(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// convert sets a row's field. Sets are sorted, so that equal rows are equal values.
func convert(to, from reflect.Value) {
	if to.Kind() == reflect.Map {
		if from.Len() == 0 {
			return
		}
		to.Set(reflect.MakeMapWithSize(to.Type(), from.Len()))
		for key, value := range from.Seq2() {
			to.SetMapIndex(key.Convert(to.Type().Key()), value.Convert(to.Type().Elem()))
		}
		return
	}
	var values []reflect.Value
	switch {
	case from.Kind() == reflect.Slice:
		for i := range from.Len() {
			values = append(values, from.Index(i))
		}
		slices.SortFunc(values, compare)
	case from.Kind() != reflect.Pointer:
		values = []reflect.Value{from}
	case !from.IsNil():
		values = []reflect.Value{from.Elem()}
	}
	if to.Kind() != reflect.Slice {
		if len(values) > 0 {
			to.Set(values[0].Convert(to.Type()))
		}
		return
	}
	for _, v := range values {
		to.Set(reflect.Append(to, v.Convert(to.Type().Elem())))
	}
}

// compare orders the elements of a set.
func compare(a, b reflect.Value) int {
	switch a.Kind() {
	case reflect.String:
		return cmp.Compare(a.String(), b.String())
	case reflect.Int:
		return cmp.Compare(a.Int(), b.Int())
	case reflect.Float64:
		return cmp.Compare(a.Float(), b.Float())
	}
	return 0
}
