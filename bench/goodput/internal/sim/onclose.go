package sim

import (
	"io"
	"sync"
)

// onClose calls f once, when the body is read to its end or closed.
type onClose struct {
	io.ReadCloser
	f    func()
	once sync.Once
}

func (o *onClose) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	if err != nil {
		o.once.Do(o.f)
	}
	return n, err
}

func (o *onClose) Close() error {
	err := o.ReadCloser.Close()
	o.once.Do(o.f)
	return err
}
