/* A program without code of its own: its size is that of what it links. */
typedef int nothing;
