"""NeMo Gym: `resources_servers/rtl/app.py`, a resources server whose /verify is our grader."""

from rtl_agent.integrations.nemo_gym import RTLResourcesServer

if __name__ == "__main__":
    RTLResourcesServer.run_webserver()
