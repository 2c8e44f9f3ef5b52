// powerdisk: a disk with a volatile write cache, as one file in a FUSE file system.
//
// Put a loop device on MOUNT/disk and a file system on that. Writes land in a cache; only a flush
// of the device (an fsync of the file, which is what the loop driver sends) makes them stable.
// Writing a word to MOUNT/control takes a picture of what a power cut at this instant would leave:
//   half   stable blocks, and each unflushed 4 KiB block with probability one half
//   none   stable blocks only: the cache is lost as a whole
//   all    everything: the cache survived
// The picture goes to the file named by POWERDISK_IMAGE; the disk itself goes on, so one run gives
// many cuts. POWERDISK_MB is the size, POWERDISK_SEED the beginning of chance.
//
// gcc -O2 -o powerdisk powerdisk.c $(pkg-config --cflags --libs fuse3)
// ./powerdisk -f -s MOUNT            (-s: one thread, so a picture is one instant)
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096 };

static struct {
    size_t bytes;
    char *cache;   // what reads see
    char *stable;  // what survives for certain
    char *dirty;   // per block: differs from stable
    unsigned long long chance;
    unsigned long writes, flushes, pictures;
} disk;

static unsigned coin(void) {
    disk.chance = disk.chance * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(disk.chance >> 62) & 1;
}

static int picture(const char *which) {
    const char *path = getenv("POWERDISK_IMAGE");
    FILE *out = path ? fopen(path, "wb") : NULL;
    if (!out) return -EIO;
    int bad = 0;
    for (size_t n = 0; n < disk.bytes / BLOCK; n++) {
        int keep = !strncmp(which, "all", 3) || (!strncmp(which, "half", 4) && coin());
        const char *from = disk.dirty[n] && keep ? disk.cache : disk.stable;
        bad |= fwrite(from + n * BLOCK, BLOCK, 1, out) != 1;
    }
    bad |= fclose(out) != 0;
    disk.pictures++;
    return bad ? -EIO : 0;
}

static int is_disk(const char *path) { return !strcmp(path, "/disk"); }
static int is_control(const char *path) { return !strcmp(path, "/control"); }

static int pd_getattr(const char *path, struct stat *st, struct fuse_file_info *fi) {
    (void)fi;
    memset(st, 0, sizeof *st);
    st->st_nlink = 1;
    if (!strcmp(path, "/")) {
        st->st_mode = S_IFDIR | 0700;
        st->st_nlink = 2;
    } else if (is_disk(path)) {
        st->st_mode = S_IFREG | 0600;
        st->st_size = (off_t)disk.bytes;
    } else if (is_control(path)) {
        st->st_mode = S_IFREG | 0600;
    } else {
        return -ENOENT;
    }
    return 0;
}

static int pd_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t off,
                      struct fuse_file_info *fi, enum fuse_readdir_flags flags) {
    (void)path, (void)off, (void)fi, (void)flags;
    fill(buf, "disk", NULL, 0, 0);
    fill(buf, "control", NULL, 0, 0);
    return 0;
}

static int pd_open(const char *path, struct fuse_file_info *fi) {
    if (is_control(path)) fi->direct_io = 1;
    return is_disk(path) || is_control(path) ? 0 : -ENOENT;
}

static int pd_truncate(const char *path, off_t size, struct fuse_file_info *fi) {
    (void)size, (void)fi;
    return is_control(path) ? 0 : -EPERM;
}

static int pd_read(const char *path, char *buf, size_t n, off_t off, struct fuse_file_info *fi) {
    (void)fi;
    if (!is_disk(path) || (size_t)off >= disk.bytes) return 0;
    if (n > disk.bytes - (size_t)off) n = disk.bytes - (size_t)off;
    memcpy(buf, disk.cache + off, n);
    return (int)n;
}

static int pd_write(const char *path, const char *buf, size_t n, off_t off,
                    struct fuse_file_info *fi) {
    (void)fi;
    if (is_control(path)) {
        int e = picture(buf);
        return e ? e : (int)n;
    }
    if ((size_t)off + n > disk.bytes) return -ENOSPC;
    memcpy(disk.cache + off, buf, n);
    for (size_t b = (size_t)off / BLOCK; b * BLOCK < (size_t)off + n; b++) disk.dirty[b] = 1;
    disk.writes++;
    return (int)n;
}

static int pd_fsync(const char *path, int data, struct fuse_file_info *fi) {
    (void)data, (void)fi;
    if (!is_disk(path)) return 0;
    for (size_t b = 0; b < disk.bytes / BLOCK; b++) {
        if (!disk.dirty[b]) continue;
        memcpy(disk.stable + b * BLOCK, disk.cache + b * BLOCK, BLOCK);
        disk.dirty[b] = 0;
    }
    disk.flushes++;
    return 0;
}

static void pd_destroy(void *data) {
    (void)data;
    fprintf(stderr, "powerdisk: %lu writes, %lu flushes, %lu pictures\n", disk.writes,
            disk.flushes, disk.pictures);
}

static const struct fuse_operations operations = {
    .getattr = pd_getattr, .readdir = pd_readdir, .open = pd_open, .truncate = pd_truncate,
    .read = pd_read, .write = pd_write, .fsync = pd_fsync, .destroy = pd_destroy,
};

int main(int argc, char **argv) {
    const char *mb = getenv("POWERDISK_MB"), *seed = getenv("POWERDISK_SEED");
    disk.bytes = (size_t)(mb ? atol(mb) : 256) << 20;
    disk.chance = seed ? strtoull(seed, NULL, 10) : 1;
    disk.cache = calloc(disk.bytes, 1);
    disk.stable = calloc(disk.bytes, 1);
    disk.dirty = calloc(disk.bytes / BLOCK, 1);
    if (!disk.cache || !disk.stable || !disk.dirty) return 1;
    return fuse_main(argc, argv, &operations, NULL);
}
