"""The sandbox on containers: Docker or Podman behind the same protocol, with the same init in each box."""

from rtl_agent.sandbox.container.sandbox import ContainerSandbox, DockerSandbox, PodmanSandbox

__all__ = ["ContainerSandbox", "DockerSandbox", "PodmanSandbox"]
