"""Records a PyTorch/XLA profile on the CPU backend.

    PJRT_DEVICE=CPU torch_xla_cpu.py OUT_DIR
"""
import glob
import os
import shutil
import sys
import tempfile

os.environ.setdefault("PJRT_DEVICE", "CPU")
import torch
import torch_xla
import torch_xla.debug.profiler as xp


def main(out):
    device = torch_xla.device()
    model = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).to(device)
    optimizer = torch.optim.Adam(model.parameters())

    def step(i):
        with xp.StepTrace("train_step", step_num=i):
            with xp.Trace("make_batch"):
                x, y = torch.randn(32, 128, device=device), torch.randint(0, 10, (32,), device=device)
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            with xp.Trace("backward"):
                loss.backward()
            optimizer.step()
        torch_xla.sync()
        return loss

    for i in range(3):
        step(i)
    folder = tempfile.mkdtemp()
    xp.start_trace(folder)
    for i in range(6):
        loss = step(i)
    loss.item()
    xp.stop_trace()
    target = os.path.join(out, "torch_xla_train/plugins/profile/run1")
    os.makedirs(target, exist_ok=True)
    shutil.copy(glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)[0], os.path.join(target, "localhost.xplane.pb"))


if __name__ == "__main__":
    main(sys.argv[1])
