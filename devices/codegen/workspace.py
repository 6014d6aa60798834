"""Memory for the temporaries of compiled programs, kept from call to call.

The system hands out large memory page by page, as it is touched first, which for 40 MB takes ten times as long as to write
it. So blocks that a program gives back are kept for the next one that asks: a few, and in all no more than `MOST`.
"""

MOST = 256 << 20  # bytes kept
SLOTS = 8

# in each library; `runtime` holds the functions of the one that serves all, none while there is none
IN_LIBRARIES = """\
static char *taken(size_t size) { return runtime[2] ? ((char *(*)(size_t))runtime[2])(size) : aligned_alloc(64, size); }
static void given(char *block, size_t size) {
  if (runtime[3]) ((void (*)(char *, size_t))runtime[3])(block, size); else free(block);
}
"""

SOURCE = f"""\
static pthread_mutex_t shelf = PTHREAD_MUTEX_INITIALIZER;
static struct {{ char *block; size_t size; }} kept[{SLOTS}];
static size_t together = 0;

static char *take(size_t size) {{
  char *block = 0;
  pthread_mutex_lock(&shelf);
  for (int k = 0; k < {SLOTS}; k++) {{
    if (!kept[k].block || kept[k].size != size) continue;
    block = kept[k].block;
    kept[k].block = 0;
    together -= size;
    break;
  }}
  pthread_mutex_unlock(&shelf);
  return block ? block : aligned_alloc(64, size);
}}

static void give(char *block, size_t size) {{
  char *unwanted[{SLOTS}];
  int count = 0, place = -1;
  if (size > {MOST}) {{ free(block); return; }}
  pthread_mutex_lock(&shelf);
  for (int k = 0; k < {SLOTS}; k++) if (!kept[k].block) place = k;
  for (int k = 0; k < {SLOTS} && (place < 0 || together + size > {MOST}); k++) {{
    if (!kept[k].block) continue;
    unwanted[count++] = kept[k].block;
    together -= kept[k].size;
    kept[k].block = 0;
    place = k;
  }}
  kept[place].block = block, kept[place].size = size;
  together += size;
  pthread_mutex_unlock(&shelf);
  while (count) free(unwanted[--count]);
}}

void empty_shelf(void) {{
  for (int k = 0; k < {SLOTS}; k++) {{
    pthread_mutex_lock(&shelf);
    char *block = kept[k].block;
    if (block) together -= kept[k].size;
    kept[k].block = 0;
    pthread_mutex_unlock(&shelf);
    free(block);
  }}
}}
"""
