#!/bin/sh
echo "${0##*/}: not available here: this task is done from its specification alone" >&2
exit 127
