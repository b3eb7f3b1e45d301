package node

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands and the string set of linux/ethtool.h.
const (
	ethtoolGStrings  = 0x1b
	ethtoolGSSetInfo = 0x37
	ethtoolGFeatures = 0x3a
	ethtoolSFeatures = 0x3b
	ethSSFeatures    = 4
	ethGStringLen    = 32
	maxFeatures      = 1024
)

// readFeatures reads the offloads of a link in the thread's namespace.
func readFeatures(link string) (map[string]bool, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd) //nolint:errcheck // only read
	names, err := featureNames(fd, link)
	if err != nil {
		return nil, err
	}
	// struct ethtool_gfeatures: per 32 features, the bits available, requested, active, never changed.
	blocks := (len(names) + 31) / 32
	b := make([]byte, 8+16*blocks)
	binary.NativeEndian.PutUint32(b, ethtoolGFeatures)
	binary.NativeEndian.PutUint32(b[4:], uint32(blocks))
	if err := ethtool(fd, link, b); err != nil {
		return nil, err
	}
	kernel := map[string]bool{}
	for i, name := range names {
		active := binary.NativeEndian.Uint32(b[8+16*(i/32)+8:])
		if name != "" {
			kernel[name] = active>>(i%32)&1 != 0
		}
	}
	return ethtoolFeatures(kernel), nil
}

// featureNames returns the kernel's feature names, indexed by bit.
func featureNames(fd int, link string) ([]string, error) {
	info := make([]byte, 16+4) // struct ethtool_sset_info with one number
	binary.NativeEndian.PutUint32(info, ethtoolGSSetInfo)
	binary.NativeEndian.PutUint64(info[8:], 1<<ethSSFeatures)
	if err := ethtool(fd, link, info); err != nil {
		return nil, err
	}
	count := int(binary.NativeEndian.Uint32(info[16:]))
	if binary.NativeEndian.Uint64(info[8:]) == 0 || count <= 0 || count > maxFeatures {
		return nil, fmt.Errorf("the kernel names %d features", count)
	}
	list := make([]byte, 12+ethGStringLen*count) // struct ethtool_gstrings
	binary.NativeEndian.PutUint32(list, ethtoolGStrings)
	binary.NativeEndian.PutUint32(list[4:], ethSSFeatures)
	binary.NativeEndian.PutUint32(list[8:], uint32(count))
	if err := ethtool(fd, link, list); err != nil {
		return nil, err
	}
	names := make([]string, count)
	for i := range names {
		name, _, _ := bytes.Cut(list[12+ethGStringLen*i:][:ethGStringLen], []byte{0})
		names[i] = string(name)
	}
	return names, nil
}

// ethtool makes a request about a link; the reply overwrites it.
func ethtool(fd int, link string, request []byte) error {
	ifreq := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte // the kernel's size
	}{data: unsafe.Pointer(&request[0])}
	copy(ifreq.name[:unix.IFNAMSIZ-1], link)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&ifreq)))
	runtime.KeepAlive(request)
	if errno != 0 {
		return os.NewSyscallError("ethtool", errno)
	}
	return nil
}

// SetFeatures switches offloads of a link in our own network namespace, by the kernel's names. It is no error if
// dependent offloads change with them.
func SetFeatures(link string, features map[string]bool) error {
	if !validLink(link) {
		return badName("link", link)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing is written to it
	names, err := featureNames(fd, link)
	if err != nil {
		return fmt.Errorf("offloads of %s: %w", link, err)
	}
	// struct ethtool_sfeatures: per 32 features, which to change, and how.
	blocks := (len(names) + 31) / 32
	b := make([]byte, 8+8*blocks)
	binary.NativeEndian.PutUint32(b, ethtoolSFeatures)
	binary.NativeEndian.PutUint32(b[4:], uint32(blocks))
	known := 0
	for i, name := range names {
		on, ok := features[name]
		if !ok {
			continue
		}
		known++
		set := func(at int) {
			word := b[8+8*(i/32)+at:]
			binary.NativeEndian.PutUint32(word, binary.NativeEndian.Uint32(word)|1<<(i%32))
		}
		set(0)
		if on {
			set(4)
		}
	}
	if known != len(features) {
		return fmt.Errorf("offloads of %s: the kernel does not know all of %v", link, features)
	}
	if err := ethtool(fd, link, b); err != nil {
		return fmt.Errorf("offloads of %s: %w", link, err)
	}
	return nil
}
