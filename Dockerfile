# rtl-agent with the tools of its lock file and pins, for Docker, Podman and Apptainer; docs/containers.md has the lines.
#   core   the grader, its tools, the grade server         make image
#   train  the same with torch                             make image-train
#   dev    what `make test` needs, without rtl-agent       .devcontainer
# Debian 12, or an image of a site's own that is made of it: with its mirrors, certificates and pip's configuration.
ARG BASE=debian:12.11-slim

FROM ${BASE} AS system
# A C++ compiler is for harnesses on Verilator; bubblewrap is used where the container may make namespaces.
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        bubblewrap ca-certificates g++ libcap2-bin libpython3.11 make perl python3 >/dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/ldconfig /var/log/*.log /var/log/apt /usr/share/doc /usr/share/man

FROM system AS build
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
# For a build that has its packages elsewhere; pip reads them. They are in no layer of what is built.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ENV RTL_AGENT_HOME=/opt/rtl-agent/tools PYTHONDONTWRITEBYTECODE=1
COPY pyproject.toml requirements-dev.lock README.md LICENSE /src/
COPY rtl_agent /src/rtl_agent
WORKDIR /src
RUN python3 -m venv /opt/rtl-agent/venv \
 && /opt/rtl-agent/venv/bin/pip install -qq --no-cache-dir --disable-pip-version-check -c requirements-dev.lock '.[service]'
# The modules of Icarus too: what runs in the container can write neither here nor compile for everybody.
RUN /opt/rtl-agent/venv/bin/python -m rtl_agent.toolchain.install \
 && /opt/rtl-agent/venv/bin/python -c 'from rtl_agent.toolchain import find_toolchain as find; find().warm_start(); find().dump()' \
 && chmod -R a+rX,go-w /opt/rtl-agent

FROM system AS core
COPY --from=build /opt/rtl-agent /opt/rtl-agent
# Where the container may make no namespaces, boxes are made by this copy of Python. It has the capabilities for that, and
# only the image's own user may start it: who gives every job a uid of its own could be any user of the container.
RUN groupadd --gid 10001 rtl-agent && useradd --uid 10001 --gid 10001 --create-home rtl-agent \
 && launcher=/usr/local/libexec/rtl-agent/launcher \
 && mkdir -p /usr/local/libexec/rtl-agent /var/lib/rtl-agent/boxes /work \
 && cp "$(readlink -f /usr/bin/python3)" $launcher && chgrp rtl-agent $launcher && chmod 750 $launcher \
 && setcap cap_chown,cap_dac_override,cap_fowner,cap_setgid,cap_setuid,cap_setpcap,cap_sys_chroot,cap_mknod+ep $launcher \
 && chmod 711 /var/lib/rtl-agent/boxes && chown rtl-agent:rtl-agent /work
ENV PATH=/opt/rtl-agent/venv/bin:$PATH RTL_AGENT_HOME=/opt/rtl-agent/tools
USER rtl-agent
WORKDIR /work
CMD ["rtl-agent", "doctor"]

# Below `core`: Docker's older builder makes every stage that is above the one it was asked for.
FROM build AS build-train
RUN /opt/rtl-agent/venv/bin/pip install -qq --no-cache-dir --disable-pip-version-check -c requirements-dev.lock '.[service,train]' \
 && chmod -R a+rX,go-w /opt/rtl-agent

FROM core AS train
COPY --from=build-train /opt/rtl-agent/venv /opt/rtl-agent/venv

FROM system AS dev
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        chromium fonts-dejavu-core git iverilog npm openssh-client python3-venv sudo yosys >/dev/null \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 1000 --create-home --shell /bin/bash dev \
 && echo 'dev ALL=(ALL) NOPASSWD:ALL' >/etc/sudoers.d/dev
USER dev
