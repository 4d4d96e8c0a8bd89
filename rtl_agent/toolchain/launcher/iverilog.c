/* Starts Icarus' compiler driver with the directory of its parts, which it would look for in /usr. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **given)
{
    char **argv = calloc(count + 3, sizeof *argv);
    if (!argv)
        return 126;
    argv[0] = given[0];
    argv[1] = "-B";
    argv[2] = BASE;
    for (int i = 1; i < count; i++)
        argv[i + 2] = given[i];
    execv(PROGRAM, argv);
    perror(PROGRAM);
    return 126;
}
